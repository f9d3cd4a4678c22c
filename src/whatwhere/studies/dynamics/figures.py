"""Figure 2 and its relatives: accuracy, scores and purity along training, drawn from runs on disk.

    figure-2-dynamics     A accuracy per hop class, B scores and entropy of some layers, C purity counts
    all-layers            B for every layer
    gammas                C at both tolerances
    seeds                 A and C of every seed, where there are several

Each has its numbers beside it as CSV, and a column of panels for each run. A dashed line marks t*, the moment of
maximal accuracy (erratum E18). The paper scales entropy to its range within each layer, which hides its level, so a
dotted line shows its share of the maximum (erratum E25).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.heads.purity import GAMMAS, KINDS, Kind
from whatwhere.store.storage import write_csv
from whatwhere.studies.dynamics.data import (
    ACCURACY_COLUMNS,
    PURITY_COLUMNS,
    SCORE_COLUMNS,
    Dynamics,
    accuracy_rows,
    purity_rows,
    read_dynamics,
    score_rows,
)
from whatwhere.studies.style import ENTROPY, HOPS, LINE, NEUTRAL, PALE, POSITIONAL, SYMBOLIC, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER_LAYERS = (1, 5, 11)
"""The depths of Figure 2B."""
MEAN = "#b5179e"
"""Magenta, as in the paper."""
HOP_LINES = ("-", "--", "-.", ":")
COLOUR: dict[Kind, str] = {"positional": POSITIONAL, "symbolic": SYMBOLIC}
COLUMN = 5.0
"""Inches for each run."""


def draw_dynamics(runs: Sequence[Path], into: Path) -> list[Path]:
    """Draws the three figures of some runs side by side, with their data.

    Args:
        runs: run directories, trained and scored.
        into: where the files go.

    Returns:
        The figures.

    Raises:
        WhatwhereError: a directory is no run or was not scored, or a table is damaged.
    """
    read = [read_dynamics(run) for run in runs]
    with style():
        return [
            *draw_figure_2(read, into / "figure-2-dynamics"),
            *draw_all_layers(read, into / "all-layers"),
            *draw_gammas(read, into / "gammas"),
        ]


def draw_figure_2(runs: Sequence[Dynamics], path: Path) -> list[Path]:
    """Accuracy above scores above purity, one column for each run."""
    from matplotlib import pyplot

    layers = [shown_layers(run) for run in runs]
    middle = max(map(len, layers))
    figure, panels = pyplot.subplots(
        middle + 2, len(runs), figsize=(COLUMN * len(runs), 5.2 + 1.35 * middle), squeeze=False, sharex="col",
        height_ratios=[2, *[1] * middle, 2],
    )  # fmt: skip
    for column, (run, shown) in enumerate(zip(runs, layers, strict=True)):
        accuracy, *scores, counts = panels[:, column]
        _draw_accuracy(accuracy, run)
        accuracy.set_title(f"{'A. ' if not column else ''}{run.task.capitalize()} task: accuracy", weight="bold")
        for axes, layer in zip(scores, shown, strict=False):
            _draw_scores(axes, run, layer)
        for axes in scores[len(shown) :]:
            axes.set_visible(False)
        scores[0].set_title(f"{'B. ' if not column else ''}Scores and entropy", weight="bold")
        _draw_purity(counts, run, GAMMAS[0])
        counts.set_title(f"{'C. ' if not column else ''}Heads that are pure for good", weight="bold")
        counts.set_xlabel("training step")
        for axes in panels[:, column]:
            _mark_maximum(axes, run, label_at=0.02 if axes is accuracy else None)
    panels[0, 0].set_ylabel("accuracy")
    panels[-1, 0].set_ylabel("heads")
    panels[0, -1].legend(loc="lower right", fontsize=8)
    _legend_below(figure, panels[1, 0])
    write_csv(_beside(path, "a-accuracy"), ACCURACY_COLUMNS, [row for run in runs for row in accuracy_rows(run)])
    scores = [row for run, shown in zip(runs, layers, strict=True) for row in score_rows(run, shown)]
    write_csv(_beside(path, "b-scores"), SCORE_COLUMNS, scores)
    write_csv(_beside(path, "c-purity"), PURITY_COLUMNS, [row for run in runs for row in purity_rows(run, GAMMAS[0])])
    return save_figure(figure, path)


def draw_all_layers(runs: Sequence[Dynamics], path: Path) -> list[Path]:
    """The appendix figure "all layers": every layer's scores and entropy, two columns for each run."""
    from matplotlib import pyplot

    lines = max(math.ceil(run.layers / 2) for run in runs)
    figure = pyplot.figure(figsize=(1.2 * COLUMN * len(runs), 1.3 + 1.35 * lines))
    parts = figure.subfigures(1, len(runs), squeeze=False)[0]
    for run, part in zip(runs, parts, strict=True):
        panels = part.subplots(lines, 2, sharex=True, sharey=True, squeeze=False).T.ravel()
        part.suptitle(f"{run.task.capitalize()} task", x=0.02, ha="left", weight="bold")
        for layer, axes in enumerate(panels):
            axes.set_visible(layer < run.layers)
            if layer < run.layers:
                _draw_scores(axes, run, layer)
                _mark_maximum(axes, run)
        part.supxlabel("training step", fontsize=9)
    _legend_below(figure, parts[0].axes[0])
    rows = [row for run in runs for row in score_rows(run, range(run.layers))]
    write_csv(path.with_suffix(".csv"), SCORE_COLUMNS, rows)
    return save_figure(figure, path)


def draw_gammas(runs: Sequence[Dynamics], path: Path) -> list[Path]:
    """The appendix figure "gammas": purity counts at both tolerances."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        len(GAMMAS), len(runs), figsize=(COLUMN * len(runs), 2.9 * len(GAMMAS)), squeeze=False, sharex="col"
    )
    for line, gamma in zip(panels, GAMMAS, strict=True):
        for axes, run in zip(line, runs, strict=True):
            _draw_purity(axes, run, gamma)
            _mark_maximum(axes, run, label_at=0.93)
            axes.set_title(rf"{run.task.capitalize()} task, $\gamma$ = {gamma:g}", weight="bold")
        line[0].set_ylabel("heads pure for good")
    for axes in panels[-1]:
        axes.set_xlabel("training step")
    _legend_below(figure, panels[0, 0])
    rows = [row for gamma in GAMMAS for run in runs for row in purity_rows(run, gamma)]
    write_csv(path.with_suffix(".csv"), PURITY_COLUMNS, rows)
    return save_figure(figure, path)


def draw_seeds(runs: Mapping[str, Mapping[int, Path]], into: Path) -> list[Path]:
    """Accuracy and purity of the same trainings with several seeds: a line of panels for each, two for each task.

    Args:
        runs: run directories, trained and scored, by task and by seed.
        into: where the figure and its data go.

    Raises:
        WhatwhereError: a directory is no run or was not scored, or a table is damaged.
    """
    from matplotlib import pyplot

    read = {task: {seed: read_dynamics(run) for seed, run in seeds.items()} for task, seeds in runs.items()}
    seeds = sorted({seed for found in read.values() for seed in found})
    with style():
        figure, panels = pyplot.subplots(
            len(seeds), 2 * len(read), figsize=(0.72 * COLUMN * 2 * len(read), 0.9 + 2.1 * len(seeds)), squeeze=False,
            sharex="col",
        )  # fmt: skip
        for column, (task, found) in enumerate(read.items()):
            for line, seed in enumerate(seeds):
                accuracy, counts = panels[line, 2 * column : 2 * column + 2]
                accuracy.set_visible(seed in found)
                counts.set_visible(seed in found)
                if seed in found:
                    _draw_accuracy(accuracy, found[seed])
                    _draw_purity(counts, found[seed], GAMMAS[0])
                    _mark_maximum(accuracy, found[seed])
                    _mark_maximum(counts, found[seed], label_at=0.93)
                    accuracy.set_ylabel(f"seed {seed}")
            longest = max(run.last for run in found.values())
            for axes in (*panels[:, 2 * column], *panels[:, 2 * column + 1]):
                axes.set_xlim(0, longest)
            panels[0, 2 * column].set_title(f"{task.capitalize()} task: accuracy", weight="bold")
            panels[0, 2 * column + 1].set_title("Heads that are pure for good", weight="bold")
        for axes in panels[-1]:
            axes.set_xlabel("training step")
        shown = {str(line.get_label()): line for axes in panels.flat for line in axes.get_legend_handles_labels()[0]}
        figure.legend(handles=[*shown.values()], loc="outside lower center", ncols=len(shown), fontsize=8)
        each = [(seed, run) for found in read.values() for seed, run in found.items()]
        write_csv(
            into / "seeds-accuracy.csv", ("seed", *ACCURACY_COLUMNS),
            [(seed, *row) for seed, run in each for row in accuracy_rows(run)],
        )  # fmt: skip
        write_csv(
            into / "seeds-purity.csv", ("seed", *PURITY_COLUMNS),
            [(seed, *row) for seed, run in each for row in purity_rows(run, GAMMAS[0])],
        )  # fmt: skip
        return save_figure(figure, into / "seeds")


def shown_layers(run: Dynamics) -> list[int]:
    """The layers of Figure 2B that the model has; the first where it has none of them."""
    return [layer for layer in PAPER_LAYERS if layer < run.layers] or [0]


def _draw_accuracy(axes: Axes, run: Dynamics) -> None:
    steps = [row["step"] for row in run.metrics]
    for hops in run.hops:
        at = (hops - 1) % len(HOPS)
        label = f"{hops} hop{'s' * (hops > 1)}"
        axes.plot(steps, run.accuracy(hops), HOP_LINES[at], color=HOPS[at], linewidth=1.4, label=label)
    axes.plot(steps, run.accuracy(None), color=MEAN, linewidth=2.2, label="mean")
    axes.set_ylim(-0.03, 1.06)
    axes.set_xlim(0, run.last)


def _draw_scores(axes: Axes, run: Dynamics, layer: int) -> None:
    history = run.history
    for head in range(run.heads):
        at = (slice(None), layer, head)
        curves = (
            (history.positional, "positional", POSITIONAL, LINE["positional"], 1.8),
            (history.symbolic, "symbolic", SYMBOLIC, LINE["symbolic"], 1.8),
            (run.entropy, "entropy, scaled to its range", ENTROPY, "-", 1.0),
            (history.entropy_share, "entropy / maximum", ENTROPY, ":", 1.0),
        )
        for values, name, colour, line, width in curves:
            axes.plot(
                history.steps, values[at], line, color=colour, linewidth=width, label=name if head == 0 else None,
                zorder=1 + width,
            )  # fmt: skip
    axes.set_ylim(-0.05, 1.08)
    axes.set_yticks((0, 0.5, 1))
    axes.set_xlim(0, run.last)
    axes.set_ylabel(f"layer {layer}")


def _draw_purity(axes: Axes, run: Dynamics, gamma: float) -> None:
    """Two staircases; at each rise stand the layers that joined (layer.head where a layer has several heads).

    Symbolic names stand left above a rise and positional ones right below it, where their own staircase never runs.
    """
    from matplotlib.ticker import MaxNLocator

    found = run.purity(gamma)
    everyone = run.layers * run.heads
    axes.axhline(everyone, color=PALE, linewidth=1)
    axes.annotate("all", (0, everyone), (3, 1), textcoords="offset points", color=NEUTRAL, fontsize=7)
    for kind in KINDS:
        count = found.count(kind)
        axes.step(found.steps, count, where="post", color=COLOUR[kind], linestyle=LINE[kind], label=kind)
        for step, joined in groupby(found.joined(kind), key=lambda head: head[0]):
            names = [f"{layer}.{head}" if run.heads > 1 else str(layer) for _, layer, head in joined]
            height = int(count[found.steps == step][0])
            above = kind == "symbolic"
            axes.annotate(
                ", ".join(names), (step, height), (-2, 1) if above else (2, -2), textcoords="offset points",
                ha="right" if above else "left", va="bottom" if above else "top", fontsize=7, color=COLOUR[kind],
            )  # fmt: skip
    axes.set_ylim(-0.3, 1.14 * everyone)
    axes.set_xlim(0, run.last)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _mark_maximum(axes: Axes, run: Dynamics, label_at: float | None = None) -> None:
    """The dashed line at t*, with its step written at a height from 0 to 1."""
    if run.best != run.best:
        return
    axes.axvline(run.best, color=NEUTRAL, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    if label_at is not None:
        right = run.best > 0.55 * run.last  # the legend of the accuracies stands at the right
        axes.annotate(
            f"$t^*$ = {run.best:,.0f}", (run.best, label_at), (-3 if right else 3, 1),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="right" if right else "left", color=NEUTRAL, fontsize=8,
        )  # fmt: skip


def _legend_below(figure: Figure, axes: Axes) -> None:
    """One legend for all panels, where no curve can run into it."""
    handles, labels = axes.get_legend_handles_labels()
    columns = len(labels) if figure.get_figwidth() > COLUMN else 2
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8)


def _beside(path: Path, panel: str) -> Path:
    """``figure-2-dynamics`` has a table for each panel: ``figure-2a-accuracy.csv`` and so on."""
    return path.with_name(f"figure-2{panel}.csv")
