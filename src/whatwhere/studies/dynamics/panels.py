"""The panels of Figure 2: accuracy of the hop classes, scores of one layer, counts of pure heads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from whatwhere.heads.purity import KINDS
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.summary import head_name, joined
from whatwhere.studies.dynamics.tables import PureHead
from whatwhere.studies.style import ENTROPY, HOPS, LINE, NEUTRAL, PALE, POSITIONAL, SYMBOLIC
from whatwhere.trace.layer import counted

MEAN = "#b5179e"
"""Magenta, as in the paper."""
HOP_LINES = ("-", "--", "-.", ":")
COLOUR = {"positional": POSITIONAL, "symbolic": SYMBOLIC}


def step_axis(axes: Axes, last: int) -> None:
    """Training steps on a square-root scale, as on the page: most happens in the first tenth of a long run."""
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
    axes.set_xlim(0, max(last, 1))
    axes.set_xticks(sorted({float(f"{last * part**2:.1g}") for part in (0, 0.2, 0.4, 0.7, 1)}))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def draw_accuracy(axes: Axes, run: Training) -> None:
    """The accuracy of each hop class, and their mean (Figure 2A)."""
    for hop, curve in zip(run.hops, run.accuracy.T, strict=True):
        at, label = (hop - 1) % len(HOPS), counted(hop, "hop")
        axes.plot(run.steps, curve, HOP_LINES[at], color=HOPS[at], linewidth=1.4, label=label)
    axes.plot(run.steps, run.mean, color=MEAN, linewidth=2.2, label="mean")
    axes.set_ylim(-0.03, 1.06)
    step_axis(axes, run.last)


def draw_scores(axes: Axes, run: Training, layer: int) -> None:
    """Both scores and the entropy of the heads of one layer (Figure 2B)."""
    history = run.scores
    curves = (
        *((getattr(history, kind), kind, COLOUR[kind], LINE[kind], 1.8) for kind in KINDS),
        (history.scaled_entropy, "entropy, scaled to its range", ENTROPY, "-", 1.0),
        (history.entropy_share, "entropy / maximum", ENTROPY, ":", 1.0),
    )
    for values, name, colour, line, width in curves:
        for head in range(history.shape[1]):
            axes.plot(
                history.steps, values[:, layer, head], line, color=colour, linewidth=width,
                label=name if head == 0 else None, zorder=1 + width,
            )  # fmt: skip
    axes.set_ylim(-0.05, 1.08)
    axes.set_yticks((0, 0.5, 1))
    step_axis(axes, run.last)
    axes.set_ylabel(f"layer {layer}")


def draw_purity(axes: Axes, pure: Sequence[PureHead], last: int) -> None:
    """Two staircases of heads that are pure for good (Figure 2C), with the layers that joined at each rise.

    Symbolic names are left above a rise, positional ones right below it, where their own staircase never is. The rows
    of purity are those of one tolerance, reading and tau.
    """
    draw_counts(axes, pure, last)
    heads = max(row.head for row in pure) + 1
    for kind in KINDS:
        above, height = kind == "symbolic", 0
        for step, rows in groupby(joined(pure, kind), key=lambda row: row[0]):
            text = [head_name(layer, head, heads) for _, layer, head in rows]
            height += len(text)
            axes.annotate(
                ", ".join(text), (step, height), (-2, 1) if above else (2, -2), textcoords="offset points",
                ha="right" if above else "left", va="bottom" if above else "top", fontsize=7, color=COLOUR[kind],
            )  # fmt: skip


def draw_counts(axes: Axes, pure: Sequence[PureHead], last: int) -> None:
    """The staircases alone, and a line at the number of all heads."""
    everyone = len(pure) // len(KINDS)
    axes.axhline(everyone, color=PALE, linewidth=1)
    axes.annotate(f"all {everyone}", (0, everyone), (3, 1), textcoords="offset points", color=NEUTRAL, fontsize=7)
    for kind in KINDS:
        rises = [step for step, _, _ in joined(pure, kind)]
        steps, counts = [0, *rises, last], [*range(len(rises) + 1), len(rises)]
        axes.step(steps, counts, where="post", color=COLOUR[kind], linestyle=LINE[kind], label=kind)
    axes.set_ylim(-0.3, 1.14 * everyone)
    step_axis(axes, last)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def mark_maximum(axes: Axes, run: Training, label_at: float | None = None) -> None:
    """The dashed line at t*, with its step written at a height from 0 to 1."""
    if np.isnan(run.best):
        return
    axes.axvline(run.best, color=NEUTRAL, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    if label_at is not None:
        right = run.best > 0.3 * run.last  # the legend of the accuracies stands at the right
        axes.annotate(
            f"$t^*$ = {run.best:,.0f}", (run.best, label_at), (-3 if right else 3, 1),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="right" if right else "left", color=NEUTRAL, fontsize=8,
        )  # fmt: skip


def legend_below(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all panels, where no curve can run into it."""
    shown = {str(line.get_label()): line for axes in panels for line in axes.get_legend_handles_labels()[0]}
    columns = len(shown) if figure.get_figwidth() > 6 else 2
    figure.legend(handles=[*shown.values()], loc="outside lower center", ncols=columns, fontsize=8)
