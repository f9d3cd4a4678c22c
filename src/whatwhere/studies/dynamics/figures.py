"""Figure 2 and related figures: accuracy, scores and purity along training.

    figure-2-dynamics     A accuracy per hop class, B scores and entropy of some layers, C purity counts
    all-layers            B for every layer
    gammas                C at both tolerances
    seeds                 A and C of every run
    purity-by-reading     C for each reading of queries and each tau

All but the last show several runs beside each other. A dashed line marks t*, the moment of maximal accuracy (erratum
E18). The paper scales entropy to its range within each layer. This hides its level, so a dotted line shows its share
of the maximum (erratum E25).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib import pyplot
from matplotlib.figure import Figure

from whatwhere.heads.purity import GAMMAS
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.panels import (
    draw_accuracy,
    draw_counts,
    draw_purity,
    draw_scores,
    legend_below,
    mark_maximum,
    step_axis,
)
from whatwhere.studies.results import Results

PAPER_LAYERS = (1, 5, 11)
"""The depths of Figure 2B."""
STEPS = "training step (square-root scale)"
COLUMN = 4.6
"""Inches for each run."""


def draw_figure_2(results: Mapping[str, Results]) -> Figure:
    """Accuracy above scores above purity, one column for each kind of training (of several seeds, the first)."""
    runs = [found[0] for found in by_title(results).values()]
    layers = [shown_layers(run) for run in runs]
    middle = max(map(len, layers))
    figure, panels = pyplot.subplots(
        middle + 2, len(runs), figsize=(COLUMN * len(runs), 5.2 + 1.35 * middle), squeeze=False, sharex="col",
        height_ratios=[2, *[1] * middle, 2],
    )  # fmt: skip
    for column, (run, shown) in enumerate(zip(runs, layers, strict=True)):
        accuracy, *scores, counts = panels[:, column]
        draw_accuracy(accuracy, run)
        accuracy.set_title(f"{'A. ' if not column else ''}{run.title}: accuracy", weight="bold")
        for axes, layer in zip(scores, shown, strict=False):
            draw_scores(axes, run, layer)
        for axes in scores[len(shown) :]:
            axes.set_visible(False)
        scores[0].set_title(f"{'B. ' if not column else ''}Scores and entropy", weight="bold")
        draw_purity(counts, run.pure(GAMMAS[0]), run.last)
        counts.set_title(f"{'C. ' if not column else ''}Heads that are pure for good", weight="bold")
        counts.set_xlabel(STEPS)
        for axes in panels[:, column]:
            mark_maximum(axes, run, label_at=0.02 if axes is accuracy else None)
    panels[0, 0].set_ylabel("accuracy")
    panels[-1, 0].set_ylabel("heads")
    panels[0, -1].legend(loc="lower right", fontsize=8)
    legend_below(figure, [panels[1, 0]])
    return figure


def draw_all_layers(results: Mapping[str, Results]) -> Figure:
    """The appendix figure "all layers": every layer's scores and entropy, two columns for each run."""
    runs = [found[0] for found in by_title(results).values()]
    lines = max(math.ceil(run.scores.shape[0] / 2) for run in runs)
    figure = pyplot.figure(figsize=(1.2 * COLUMN * len(runs), 1.3 + 1.35 * lines))
    parts = figure.subfigures(1, len(runs), squeeze=False)[0]
    for run, part in zip(runs, parts, strict=True):
        panels = part.subplots(lines, 2, sharex=True, sharey=True, squeeze=False).T.ravel()
        part.suptitle(run.title, x=0.02, ha="left", weight="bold")
        for layer, axes in enumerate(panels):
            axes.set_visible(layer < run.scores.shape[0])
            if axes.get_visible():
                draw_scores(axes, run, layer)
                mark_maximum(axes, run)
        part.supxlabel(STEPS, fontsize=9)
    legend_below(figure, [parts[0].axes[0]])
    return figure


def draw_gammas(results: Mapping[str, Results]) -> Figure:
    """The appendix figure "gammas": purity counts at both tolerances."""
    runs = [found[0] for found in by_title(results).values()]
    figure, panels = pyplot.subplots(
        len(GAMMAS), len(runs), figsize=(COLUMN * len(runs), 2.9 * len(GAMMAS)), squeeze=False, sharex="col"
    )
    for line, gamma in zip(panels, GAMMAS, strict=True):
        for axes, run in zip(line, runs, strict=True):
            draw_purity(axes, run.pure(gamma), run.last)
            mark_maximum(axes, run)
            axes.set_title(rf"{run.title}, $\gamma$ = {gamma:g}", weight="bold")
        line[0].set_ylabel("heads pure for good")
    for axes in panels[-1]:
        axes.set_xlabel(STEPS)
    legend_below(figure, [panels[0, 0]])
    return figure


def draw_seeds(results: Mapping[str, Results]) -> Figure:
    """Accuracy and purity of every run: a line of panels for each, and two columns for each kind of training."""
    groups = by_title(results)
    lines = max(map(len, groups.values()))
    names = {id(one): name for name, one in results.items()}
    figure, panels = pyplot.subplots(
        lines, 2 * len(groups), figsize=(0.72 * COLUMN * 2 * len(groups), 0.9 + 2.1 * lines), squeeze=False,
        sharex="col",
    )  # fmt: skip
    for column, (title, runs) in enumerate(groups.items()):
        both = panels[:, 2 * column : 2 * column + 2]
        for (accuracy, counts), run in zip(both, runs, strict=False):
            draw_accuracy(accuracy, run)
            draw_purity(counts, run.pure(GAMMAS[0]), run.last)
            mark_maximum(accuracy, run, label_at=0.02)
            mark_maximum(counts, run)
            accuracy.set_ylabel(names[id(run.results)], fontsize=8)
        for axes in both[len(runs) :].ravel():
            axes.set_visible(False)
        for axes, text in zip(both[0], (f"{title}: accuracy", "Pure for good"), strict=True):
            axes.set_title(text, weight="bold")
            step_axis(axes, max(run.last for run in runs))  # shared by the panels below
        for axes in both[len(runs) - 1]:
            axes.set_xlabel(STEPS)
            axes.tick_params(labelbottom=True)
    legend_below(figure, panels.ravel().tolist())
    return figure


def draw_readings(results: Mapping[str, Results]) -> Figure:
    """Purity counts of one run, by reading of queries (down) and tau (across)."""
    (one,) = results.values()
    run = Training(one)
    taus = sorted({row.tau for row in run.pure_heads})
    readings = list(dict.fromkeys(row.reading for row in run.pure_heads))
    figure, panels = pyplot.subplots(
        len(readings), len(taus), figsize=(2.6 * len(taus), 0.9 + 1.9 * len(readings)), squeeze=False, sharex=True,
        sharey=True,
    )  # fmt: skip
    for line, reading in zip(panels, readings, strict=True):
        for axes, tau in zip(line, taus, strict=True):
            draw_counts(axes, run.pure(GAMMAS[0], reading, tau), run.last)
        line[0].set_ylabel(f"queries: {reading}\nheads")
    for axes, tau in zip(panels[0], taus, strict=True):
        axes.set_title(rf"$\tau$ = {tau:g}", weight="bold")
    for axes in panels[-1]:
        axes.set_xlabel(STEPS)
    figure.suptitle(f"{run.title}: heads that are pure for good", x=0.01, ha="left", weight="bold", fontsize=10)
    legend_below(figure, [panels[0, 0]])
    return figure


def by_title(results: Mapping[str, Results]) -> dict[str, list[Training]]:
    """The runs by kind of training (task and data), in the given order."""
    groups: dict[str, list[Training]] = {}
    for run in map(Training, results.values()):
        groups.setdefault(run.title, []).append(run)
    return groups


def shown_layers(run: Training) -> list[int]:
    """The layers of Figure 2B that the model has; the first where it has none of them."""
    return [layer for layer in PAPER_LAYERS if layer < run.scores.shape[0]] or [0]
