"""The figures of somebody's own training, from what a watch left on disk (:mod:`whatwhere.studies.watched.tables`).

    watched-heads      every watched head along training, layers down and heads across
    watched-training   how many heads are pure for good, and the loss, if it was kept

Their data is the watch's own ``scores.csv`` and ``metrics.csv``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from whatwhere.heads.purity import GAMMAS, KINDS, purity
from whatwhere.studies.dynamics.history import ScoreHistory, read_history
from whatwhere.studies.style import LINE, NEUTRAL, PALE, POSITIONAL, SYMBOLIC, save_figure, style
from whatwhere.studies.watched.tables import SCORES, describe, read_losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR = {"positional": POSITIONAL, "symbolic": SYMBOLIC}


def draw_watched(directory: Path, into: Path) -> list[Path]:
    """Draws the figures of a watched training.

    Args:
        directory: what the watch wrote to.
        into: where the figures go.

    Returns:
        The figures.

    Raises:
        WhatwhereError: a file is missing or damaged.
    """
    title = f"{describe(directory)['model']} in training"
    history, losses = read_history(directory / SCORES), read_losses(directory)
    with style():
        return [
            *_draw_heads(history, title, into / "watched-heads"),
            *_draw_training(history, losses, title, into / "watched-training"),
        ]


def _draw_heads(history: ScoreHistory, title: str, path: Path) -> list[Path]:
    """A panel for each head; where a head was not watched there is none."""
    from matplotlib import pyplot

    watched = _watched(history)
    layers, heads = (np.unique(places).tolist() for places in watched.nonzero())
    figure, panels = pyplot.subplots(
        len(layers), len(heads), figsize=(max(5.0, 1.1 + 1.5 * len(heads)), 1.5 + 1.05 * len(layers)),
        squeeze=False, sharex=True, sharey=True,
    )  # fmt: skip
    for line, layer in zip(panels, layers, strict=True):
        for axes, head in zip(line, heads, strict=True):
            axes.set_visible(bool(watched[layer, head]))
            for kind in KINDS:
                values = getattr(history, kind)[:, layer, head]
                axes.plot(history.steps, values, LINE[kind], color=COLOUR[kind], linewidth=1.6, label=kind)
            axes.set_ylim(-0.05, 1.05)
            axes.set_yticks((0, 0.5, 1))
            axes.set_title(f"{layer}.{head}", fontsize=8, pad=2)
    figure.suptitle(f"{title}: each head (layer.head)", x=0.01, ha="left", weight="bold", fontsize=10)
    figure.supxlabel("training step", fontsize=9)
    handles, labels = next(axes for axes in panels.ravel() if axes.get_visible()).get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=2, fontsize=8)
    return save_figure(figure, path)


def _draw_training(history: ScoreHistory, losses: list[dict[str, float]], title: str, path: Path) -> list[Path]:
    from matplotlib import pyplot

    rows = 2 if losses else 1
    figure, panels = pyplot.subplots(rows, 1, figsize=(5.6, 0.6 + 2.3 * rows), squeeze=False, sharex=True)
    _draw_counts(panels[0, 0], history)
    panels[0, 0].set_title(f"{title}: heads pure for good", weight="bold")
    if losses:
        axes = panels[1, 0]
        axes.plot([row["step"] for row in losses], [row["loss"] for row in losses], color=NEUTRAL)
        axes.set_title("Training loss", weight="bold")
        axes.set_ylim(bottom=0)
    panels[-1, 0].set_xlabel("training step")
    return save_figure(figure, path)


def _draw_counts(axes: Axes, history: ScoreHistory) -> None:
    """How many heads had become pure for good by each step (Section "Learning dynamics", Figure 2C)."""
    from matplotlib.ticker import MaxNLocator

    everyone = int(_watched(history).sum())
    found = purity(history.steps, history.positional, history.symbolic, GAMMAS[0])
    for kind in KINDS:
        axes.step(
            found.steps, found.count(kind), where="post", color=COLOUR[kind], linestyle=LINE[kind], label=kind
        )  # fmt: skip
    axes.axhline(everyone, color=PALE, linewidth=1)
    axes.annotate(f"all {everyone}", (0, everyone), (3, 1), textcoords="offset points", color=NEUTRAL, fontsize=7)
    axes.set_ylim(-0.3, 1.14 * everyone)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center left", fontsize=8)


def _watched(history: ScoreHistory) -> Bool[np.ndarray, "layer head"]:
    """Which heads were scored; their entropy is always defined."""
    return np.isfinite(history.entropy[0])
