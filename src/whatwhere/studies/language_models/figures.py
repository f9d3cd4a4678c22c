"""Figures of the study ``heads``: the map of all heads, and how much each rotary plane tells keys apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from whatwhere.heads.display import LEGEND, NAMED, colour_of, draw_cells
from whatwhere.studies.language_models.tables import HeadRow
from whatwhere.studies.results import Results
from whatwhere.studies.style import LABELLED, NEUTRAL, PALE


def draw_map(results: Mapping[str, Results]) -> Figure:
    """Every head as a cell: red as far as it is positional, green as far as it is symbolic, grey where it is flat.

    The right panel has the same heads as points. Both scores sum to 1 or more, so no head lies below the diagonal.
    """
    one = next(iter(results.values()))
    rows = one.rows("heads", HeadRow)
    layers, heads = sorted({row.layer for row in rows}), 1 + max(row.head for row in rows)
    tall = min(7.0, max(2.8, 0.22 * len(layers) + 1))
    wide = min(6.0, max(1.6, 0.22 * heads + 1))
    figure, (cells, points) = pyplot.subplots(
        1, 2, figsize=(wide + tall + 0.4, tall), width_ratios=(wide, tall), layout="constrained"
    )
    figure.suptitle(f"{one.short_name}: {LEGEND}", fontsize=10)
    _draw_cells(cells, rows, layers, heads)
    _draw_points(points, rows)
    return figure


def _draw_cells(axes: Axes, rows: Sequence[HeadRow], layers: Sequence[int], heads: int) -> None:
    picture = np.full((len(layers), heads, 3), 255, np.uint8)
    for row in rows:
        picture[layers.index(row.layer), row.head] = colour_of(1 - row.symbolic.value, 1 - row.positional.value)
    draw_cells(axes, picture, layers)
    axes.set_title("All heads")


def _draw_points(axes: Axes, rows: Sequence[HeadRow]) -> None:
    axes.plot([0, 1], [1, 0], color=PALE, linewidth=1)
    handles = []
    for label, (colour, mark) in LABELLED.items():
        if not (own := [row for row in rows if row.label == label]):
            continue
        x, y = [row.positional.value for row in own], [row.symbolic.value for row in own]
        look = {"color": colour, "edgecolors": NEUTRAL, "linewidths": 0.4}
        axes.scatter(x, y, s=22, marker=mark, clip_on=False, zorder=3, **look)
        handles.append(Line2D([], [], marker=mark, color=colour, markeredgecolor=NEUTRAL, markeredgewidth=0.4,
                              linestyle="", label=f"{len(own)} {label}"))  # fmt: skip
    axes.legend(handles=handles, loc="lower left", fontsize=8)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="positional score", ylabel="symbolic score", title="Both scores")


def draw_spectrum(results: Mapping[str, Results]) -> Figure:
    """The weight of each rotary plane, one row per head."""
    one = next(iter(results.values()))
    weights = one["spectrum"].pivot(index=["layer", "head"], columns="plane", values="weight")
    names, picture = weights.index.tolist(), weights.to_numpy() if len(weights) else np.full((1, 1), np.nan)
    figure, axes = pyplot.subplots(figsize=(6.4, min(9.0, max(2.4, 0.2 * len(names) + 1))), layout="constrained")
    most = float(np.nanmax(picture)) if not np.isnan(picture).all() else 1.0
    drawn = axes.imshow(
        picture, aspect="auto", interpolation="nearest", cmap="Purples", vmin=0, vmax=max(most, 1e-9),
        extent=(0.5, picture.shape[1] + 0.5, len(picture) - 0.5, -0.5),
    )  # fmt: skip
    axes.grid(visible=False)
    if len(names) <= NAMED:
        axes.set_yticks(range(len(names)), [f"{layer}.{head}" for layer, head in names])
        axes.set_ylabel("head")
    else:  # one tick per layer, at its first head
        starts = {layer: place for place, (layer, _) in reversed(list(enumerate(names)))}
        layers = sorted(starts)[:: ceil(len(starts) / NAMED)]
        axes.set_yticks([starts[layer] for layer in layers], [str(layer) for layer in layers])
        axes.set_ylabel("layer (a row per head)")
    axes.set(xlabel="frequency ID (1 is the fastest plane)", title="What tells keys apart")
    figure.colorbar(drawn, ax=axes, label="share of the logits' variance")
    return figure
