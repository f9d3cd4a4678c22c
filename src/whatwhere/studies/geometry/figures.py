"""Figure 4, the figure and the paper's table of frequencies, and closed bands.

Figure 4 shows keys and queries of the construction and of trained layers, in the plane that each head uses most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from whatwhere.studies.geometry import tables
from whatwhere.studies.geometry.tables import SLIDING, VARIANCE, FrequencyId, GatedAccuracy, PlaneVector, PlaneWeight
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, NEUTRAL, PALE, TASK, error_bars
from whatwhere.studies.terminal import spanned
from whatwhere.theory.printed import frequency
from whatwhere.trace.layer import counted

PICTURED = 2
"""How many trained layers are shown next to the construction."""
KEY = {
    "number": "arrows are queries by their integer, squares keys of symbols, triangles keys of integers",
    "letter": "arrows are queries by the letter that they ask for, squares keys by their letter",
    "both": "arrows are queries by the letter that they ask for, squares keys by their letter",
}
"""What is what in the planes."""


def draw_frequencies(results: Mapping[str, Results]) -> Figure:
    """Layer by plane: shares of the logits' variance, with the mean IDs, ours and the paper's."""
    (one,) = results.values()
    weights = one.frame("weights").query("measure == @VARIANCE")
    shares = weights.pivot(index=["layer", "head"], columns="plane", values="weight").to_numpy().clip(0)
    table, task = _variance_ids(one), one.task
    heads, planes = [(row.layer, row.head) for row in table], shares.shape[1]
    figure, axes = pyplot.subplots(figsize=(8.5, 1.6 + 0.24 * len(heads)))
    extent = (0.5, planes + 0.5, len(heads) - 0.5, -0.5)
    image = axes.imshow(np.sqrt(shares), aspect="auto", cmap="Greys", extent=extent, vmin=0)
    rows = np.arange(len(heads))
    ids = [row.weighted_id for row in table]
    axes.errorbar(
        [one.value for one in ids], rows, xerr=error_bars(ids), color=TASK[task], fmt="o", markersize=5,
        markeredgecolor="white", label="mean ID, ours (95 %)",
    )  # fmt: skip
    quoted = [(row.paper_id, at) for at, row in enumerate(table) if row.paper_id is not None]
    if quoted:
        look = {"markerfacecolor": "none", "markeredgecolor": "#0072b2", "markeredgewidth": 1.5}
        axes.plot(*zip(*quoted, strict=True), "D", label="the paper's", **look)
    axes.grid(False)
    axes.set_yticks(rows, [f"{layer}" if head == 0 else f"{layer}.{head}" for layer, head in heads])
    axes.set(ylabel="layer", xlabel="frequency ID (1 fastest)")
    axes.set_title(f"Frequency use on the {task} task: share of the logits' variance, {ids[0].n} inputs")
    bar = figure.colorbar(image, ax=axes, pad=0.01)
    bar.set_label("share (square root scale)")
    ticks = [share for share in (0.01, 0.05, 0.1, 0.2, 0.4, 0.8) if share <= np.nanmax(shares, initial=0)] or [0.0]
    bar.set_ticks([math.sqrt(share) for share in ticks], labels=[f"{share:g}" for share in ticks])
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def draw_gating(results: Mapping[str, Results]) -> Figure:
    """Accuracy when bands are closed: a band sliding over the IDs, and the named bands by layers."""
    (one,) = results.values()
    rows, task = one.rows("gating", GatedAccuracy), one.task
    sliding = [row for row in rows if row.kind == SLIDING]
    named = [row for row in rows if row.kind != SLIDING and row.hop is None]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.5, 4.2), width_ratios=(1.2, 1))
    for hop in sorted({row.hop for row in sliding if row.hop is not None}):
        here = [row for row in sliding if row.hop == hop]
        middle = np.array([((row.first or 0) + (row.last or 0)) / 2 for row in here]) + 0.3 * (hop - 2.5)
        shares = [row.accuracy for row in here]
        left.errorbar(
            middle, [share.value for share in shares], yerr=error_bars(shares), fmt="-o", markersize=3, linewidth=1.2,
            elinewidth=0.8, color=HOPS[(hop - 1) % len(HOPS)], label=counted(hop, "hop"),
        )  # fmt: skip
    width = max((row.closed for row in sliding), default=0)
    left.set(ylim=(-0.03, 1.05), xlabel=f"middle of the {width} closed IDs (1 fastest)", ylabel="accuracy")
    left.set_title(f"{task} task: a sliding band closed ({rows[0].accuracy.n} inputs per class)")
    left.legend()
    places, shares = np.arange(len(named)), [row.accuracy for row in named]
    values = [share.value for share in shares]
    right.barh(places, values, color=TASK[task], alpha=0.75)
    right.errorbar(values, places, xerr=error_bars(shares), fmt="none", ecolor=NEUTRAL, elinewidth=1)
    right.set_yticks(places, [row.variation.replace(" in ", ", layers ") for row in named])
    right.invert_yaxis()
    right.set(xlim=(0, 1.03), xlabel="accuracy, mean over hops (95 %)")
    right.set_title("bands closed or alone")
    return figure


def draw_angles(results: Mapping[str, Results]) -> Figure:
    """The paper's table of angles: weighted IDs and frequencies by layer, ours beside theirs."""
    tables = {name: {row.layer: row for row in _variance_ids(one) if row.head == 0} for name, one in results.items()}
    lines = [
        [str(layer), *(cell for rows in tables.values() for cell in _angle_cells(rows.get(layer)))]
        for layer in sorted({layer for rows in tables.values() for layer in rows})
    ]
    columns = ("mean ID (95 %)", "frequency", "paper: ID (freq.)")
    names = [name.replace("$", r"\$") for name in tables]  # a dollar sign would start a formula
    heads = ["layer", *(f"{name}\n{column}" for name in names for column in columns)]
    figure, axes = pyplot.subplots(figsize=(0.8 + 3.9 * len(tables), 0.9 + 0.2 * len(lines)))
    axes.set_axis_off()
    axes.set_title("Weighted frequency IDs by layer (share of the logits' variance; 1 is fastest)", fontsize=9)
    drawn = axes.table(
        lines, colLabels=heads, colWidths=[0.4, *[1.0] * (len(heads) - 1)], cellLoc="right", colLoc="right",
        edges="horizontal", bbox=Bbox.from_bounds(0, 0, 1, 1),
    )  # fmt: skip
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_edgecolor(PALE)
        cell.set_height(cell.get_height() * (1.8 if row == 0 else 1))
    return figure


def _angle_cells(row: FrequencyId | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    theirs = "" if row.paper_id is None else f"{row.paper_id} ({frequency(row.paper_id):.4f})"
    return spanned(row.weighted_id, ".1f"), f"{row.frequency:.4f}", theirs


def _variance_ids(results: Results) -> list[FrequencyId]:
    return [row for row in results.rows("ids", FrequencyId) if row.measure == VARIANCE]


def draw_planes(results: Mapping[str, Results]) -> Figure:
    """Keys and queries of the construction (A), of trained layers (B), and the share of each plane (C)."""
    (one,) = results.values()
    task = one.task
    vectors = one.rows("vectors", PlaneVector)
    weights = [row for row in one.rows("weights", PlaneWeight) if row.measure == VARIANCE]
    chosen = _pictured(one.rows("queries", tables.QueryTurn), one.rows("matching", tables.LetterMatching))
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


def _pictured(
    turns: Sequence[tables.QueryTurn], matches: Sequence[tables.LetterMatching]
) -> list[tuple[int, int, int, str]]:
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
