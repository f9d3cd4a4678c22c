"""Figure 4: keys and queries of the construction and of trained layers, in the plane that each head uses most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.studies.geometry import tables
from whatwhere.studies.geometry.tables import VARIANCE, LetterMatching, PlaneVector, PlaneWeight, QueryTurn
from whatwhere.studies.results import Results
from whatwhere.studies.style import PALE, TASK

PICTURED = 2
"""How many trained layers stand beside the construction."""
KEY = {
    "number": "arrows are queries by their integer, squares keys of symbols, triangles keys of integers",
    "letter": "arrows are queries by the letter that they ask for, squares keys by their letter",
    "both": "arrows are queries by the letter that they ask for, squares keys by their letter",
}
"""What is what in the planes."""


def draw_planes(results: Mapping[str, Results]) -> Figure:
    """Keys and queries of the construction (A), of trained layers (B), and the share of each plane (C)."""
    (one,) = results.values()
    task = one.task
    vectors = one.rows("vectors", PlaneVector)
    weights = [row for row in one.rows("weights", PlaneWeight) if row.measure == VARIANCE]
    chosen = _pictured(one.rows("queries", QueryTurn), one.rows("matching", LetterMatching))
    figure, panels = pyplot.subplots(1, len(chosen) + 2, figsize=(3.2 * (len(chosen) + 2), 3.9))
    if chosen:
        first = next(row for row in weights if (row.layer, row.head, row.plane) == chosen[0][:3])
        names = [row.name for row in vectors if row.role == "query" and (row.layer, row.head) == chosen[0][:2]]
        _construction(panels[0], task, first.frequency, names)
    else:  # no head has a dominant plane
        panels[0].set_axis_off()
        panels[0].set_title("A, B: no layer with a clear plane")
    for axes, (layer, head, plane, caption) in zip(panels[1:-1], chosen, strict=True):
        here = [row for row in vectors if (row.layer, row.head, row.plane) == (layer, head, plane)]
        _trained(axes, task, here)
        axes.set_title(f"B. layer {layer}, plane {plane}\n{caption}")
    for (layer, head, _, _), mark in zip(chosen, ("-o", "--s", ":^"), strict=False):
        shares = [row for row in weights if (row.layer, row.head) == (layer, head)]
        panels[-1].plot([r.plane for r in shares], [r.weight.value for r in shares], mark, markersize=2.5,
                        label=f"layer {layer}")  # fmt: skip
    panels[-1].set(xlabel="frequency ID", ylabel="share of the logits' variance")
    panels[-1].set_title("C. planes that carry the logits\n")
    if chosen:
        panels[-1].legend()
        figure.supxlabel(f"A, B: {KEY[task]}; each kind is scaled to its longest", fontsize=8)
    return figure


def _pictured(turns: Sequence[QueryTurn], matches: Sequence[LetterMatching]) -> list[tuple[int, int, int, str]]:
    """The layers whose geometry is clearest: layer, head, plane and a caption."""
    clearest = sorted(tables.clearest_turns(turns), key=lambda row: -row.agreement * row.r2)[:PICTURED]
    matching = sorted(matches, key=lambda row: -row.matching.value)[:PICTURED]
    found = [
        (r.layer, r.head, r.plane, f"integers {r.integers}: slope {r.slope.value:.2f} (theory {r.predicted:.2f})")
        for r in clearest
    ]
    found += [(r.layer, r.head, r.plane, f"queries match keys: {r.matching.value:.2f}") for r in matching]
    return sorted(found)


def _construction(axes: Axes, task: str, frequency: float, names: Sequence[str]) -> None:
    """T_Index: keys are v, the query of i is v turned back by i theta. T_Retrieval: an angle for each letter."""
    up = math.pi / 2
    if task == "number":
        queries = {name: up - int(name) * frequency for name in names}
        axes.set_title(f"A. construction T_Index\n$\\theta$ = {frequency:.3g}, every key = v")
        keys = {"v": up}
    else:
        queries = {name: up + index * 2 * math.pi / len(names) for index, name in enumerate(names)}
        axes.set_title("A. construction T_Retrieval\nan angle for each letter")
        keys = queries
    rows = [PlaneVector(0, 0, 1, "key", name, math.cos(a), math.sin(a), 1) for name, a in keys.items()]
    rows += [PlaneVector(0, 0, 1, "query", name, math.cos(a), math.sin(a), 1) for name, a in queries.items()]
    _trained(axes, task, rows)


def _trained(axes: Axes, task: str, rows: Sequence[PlaneVector]) -> None:
    """Arrows for queries, squares for keys; each kind scaled to its longest."""
    axes.set_aspect("equal")
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)
    circle = np.linspace(0, 2 * math.pi, 200)
    axes.plot(np.cos(circle), np.sin(circle), color=PALE, linewidth=0.8)
    for role in ("key", "query"):
        here = [row for row in rows if row.role == role]
        longest = max((math.hypot(row.x, row.y) for row in here), default=1.0) or 1.0
        for row in here:
            x, y = row.x / longest, row.y / longest
            if role == "query":
                axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": TASK[task], "linewidth": 1})
                size = math.hypot(x, y) or 1.0
                place = x + 0.12 * x / size, y + 0.12 * y / size
                axes.text(*place, row.name, color=TASK[task], ha="center", va="center", fontsize=7)
            else:
                mark, colour = ("^", "#1f3b73") if row.name.isdigit() else ("s", "black")
                axes.plot(x, y, mark, color=colour, markersize=4, alpha=0.6)
                if task == "letter" and len(here) > 1:
                    axes.annotate(row.name, (x, y), (3, 3), textcoords="offset points", fontsize=7)
