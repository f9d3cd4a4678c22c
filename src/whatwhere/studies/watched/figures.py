"""The figures of a watched training.

watched-heads      every watched head along training, layers down and heads across
watched-training   how many heads are pure for good, and the loss, if it was kept
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure

from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.dynamics.measure import purity_rows
from whatwhere.studies.dynamics.panels import COLOUR, draw_counts, legend_below
from whatwhere.studies.results import Results
from whatwhere.studies.style import LINE, NEUTRAL
from whatwhere.studies.watched.tables import Loss


def draw_heads(results: Mapping[str, Results]) -> Figure:
    """A panel for each head; where a head was not watched there is none."""
    (one,) = results.values()
    history = ScoreHistory.of(one["scores"])
    watched = np.isfinite(history.entropy[0])  # always defined for a head that was scored
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
    title = f"{one.settings.model} in training: each head (layer.head)"
    figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=10)
    figure.supxlabel("training step", fontsize=9)
    legend_below(figure, panels.ravel().tolist())
    return figure


def draw_training(results: Mapping[str, Results]) -> Figure:
    """How many heads are pure for good (Figure 2C), and the loss."""
    (one,) = results.values()
    losses = [(row.step, row.loss) for row in one.rows("metrics", Loss)]
    rows = 2 if losses else 1
    figure, panels = pyplot.subplots(rows, 1, figsize=(5.6, 0.6 + 2.3 * rows), squeeze=False, sharex=True)
    last = ScoreHistory.of(one["scores"]).steps[-1]
    draw_counts(panels[0, 0], [row for row in purity_rows(one["scores"]) if row.gamma == GAMMAS[0]], int(last))
    panels[0, 0].set_title(f"{one.settings.model} in training: heads pure for good", weight="bold")
    panels[0, 0].legend(loc="center left", fontsize=8)
    if losses:
        panels[1, 0].plot(*zip(*losses, strict=True), color=NEUTRAL)
        panels[1, 0].set_title("Training loss", weight="bold")
        panels[1, 0].set_ylim(bottom=0)
    panels[-1, 0].set_xlabel("training step")
    return figure
