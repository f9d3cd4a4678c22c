"""Figures of geometry and frequency use, drawn from the tables of ``DIR/geometry`` (Figure 4, the frequency figure)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whatwhere.studies.geometry.frequency_gating import GatedAccuracy
from whatwhere.studies.geometry.measure import FrequencyRow, PlaneWeight
from whatwhere.studies.geometry.planes import LetterMatching, PlaneVector, QueryTurn, clearest_turns
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, NEUTRAL, PALE, TASK, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURED = 2
"""How many trained layers stand beside the construction."""

KEY = {
    "number": "arrows are queries by their integer, squares keys of symbols, triangles keys of integers",
    "letter": "arrows are queries by the letter that they ask for, squares keys by their letter",
}
"""What is what in the planes of Figure 4."""


def draw_geometry(directory: Path) -> list[Path]:
    """Draws every figure of one ``DIR/geometry`` into it.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    results = Results(directory)
    return [*draw_heatmap(results), *draw_planes(results), *draw_gating(results)]


def draw_heatmap(results: Results) -> list[Path]:
    """Layer by plane: shares of the logits' variance, with the mean IDs, ours and the paper's."""
    from matplotlib import pyplot

    weights = [row for row in results.read("frequency", PlaneWeight) if row.measure == "variance"]
    table = [row for row in results.read("table", FrequencyRow) if row.measure == "variance"]
    task, inputs = _task(results), table[0].inputs
    heads = [(row.layer, row.head) for row in table]
    planes = max(row.plane for row in weights)
    shares = np.full((len(heads), planes), np.nan)
    for row in weights:
        shares[heads.index((row.layer, row.head)), row.plane - 1] = max(row.weight, 0.0)
    with style():
        figure, axes = pyplot.subplots(figsize=(8.5, 1.6 + 0.24 * len(heads)))
        image = axes.imshow(
            np.sqrt(shares), aspect="auto", cmap="Greys", extent=(0.5, planes + 0.5, len(heads) - 0.5, -0.5), vmin=0
        )
        rows = np.arange(len(heads))
        axes.errorbar(
            [row.weighted_id for row in table], rows, color=TASK[task], fmt="o", markersize=5, markeredgecolor="white",
            xerr=np.array([[row.weighted_id - row.low, row.high - row.weighted_id] for row in table]).T,
            label="mean ID, ours (95 %)",
        )  # fmt: skip
        quoted = [(row.paper_id, at) for at, row in enumerate(table) if row.paper_id]
        if quoted:
            axes.plot(
                *zip(*quoted, strict=True),
                "D",
                markerfacecolor="none",
                markeredgecolor="#0072b2",
                markeredgewidth=1.5,
                label="the paper's",
            )
        axes.grid(False)
        axes.set_yticks(rows, [f"{layer}" if head == 0 else f"{layer}.{head}" for layer, head in heads])
        axes.set_ylabel("layer")
        axes.set_xlabel("frequency ID (1 fastest)")
        axes.set_title(f"Frequency use on the {task} task: share of the logits' variance, {inputs} inputs")
        bar = figure.colorbar(image, ax=axes, pad=0.01)
        bar.set_label("share (square root scale)")
        ticks = [share for share in (0.01, 0.05, 0.1, 0.2, 0.4, 0.8) if share <= np.nanmax(shares)] or [0.0]
        bar.set_ticks([math.sqrt(share) for share in ticks], labels=[f"{share:g}" for share in ticks])
        figure.legend(loc="outside lower center", ncols=2)
        return save_figure(figure, results.directory / "frequency-use")


def draw_planes(results: Results) -> list[Path]:
    """Figure 4: keys and queries of the construction (A), of trained layers (B), and the share of each plane (C)."""
    from matplotlib import pyplot

    task = _task(results)
    vectors = results.read("vectors", PlaneVector)
    weights = [row for row in results.read("frequency", PlaneWeight) if row.measure == "variance"]
    chosen = _pictured(results)
    with style():
        figure, panels = pyplot.subplots(1, len(chosen) + 2, figsize=(3.2 * (len(chosen) + 2), 3.9))
        first = next(row for row in weights if (row.layer, row.head, row.plane) == chosen[0][:3])
        names = [row.name for row in vectors if row.role == "query" and (row.layer, row.head) == chosen[0][:2]]
        _construction(panels[0], task, first.frequency, names)
        for axes, (layer, head, plane, caption) in zip(panels[1:-1], chosen, strict=True):
            here = [row for row in vectors if (row.layer, row.head, row.plane) == (layer, head, plane)]
            _trained(axes, task, here)
            axes.set_title(f"B. layer {layer}, plane {plane}\n{caption}")
        for (layer, head, _, _), mark in zip(chosen, ("-o", "--s", ":^"), strict=False):
            shares = [row for row in weights if (row.layer, row.head) == (layer, head)]
            label = f"layer {layer}"
            panels[-1].plot([r.plane for r in shares], [r.weight for r in shares], mark, markersize=2.5, label=label)
        panels[-1].set(xlabel="frequency ID", ylabel="share of the logits' variance")
        panels[-1].set_title("C. planes that carry the logits\n")
        panels[-1].legend()
        figure.supxlabel(f"A, B: {KEY[task]}; each kind is scaled to its longest", fontsize=8)
        return save_figure(figure, results.directory / "figure-4-geometry")


def draw_gating(results: Results) -> list[Path]:
    """Accuracy when bands are closed: a band sliding over the IDs, and the named bands by layers."""
    from matplotlib import pyplot

    rows = results.read("gating", GatedAccuracy)
    task = _task(results)
    sliding = [row for row in rows if row.layers == "all" and row.variation[0].isdigit()]
    named = [row for row in rows if row.hop == 0 and not row.variation[0].isdigit()]
    with style():
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(10.5, 4.2), width_ratios=(1.2, 1))
        for hop in sorted({row.hop for row in sliding if row.hop}):
            here = [row for row in sliding if row.hop == hop]
            middle = np.array([(row.first + row.last) / 2 for row in here]) + 0.3 * (hop - 2.5)
            spread = np.array([[row.accuracy - row.low, row.high - row.accuracy] for row in here]).clip(0).T
            left.errorbar(
                middle, [row.accuracy for row in here], yerr=spread, fmt="-o", markersize=3, linewidth=1.2,
                elinewidth=0.8, color=HOPS[(hop - 1) % len(HOPS)], label=f"{hop} hop{'s' * (hop > 1)}",
            )  # fmt: skip
        width = max((row.closed for row in sliding), default=0)
        left.set(ylim=(-0.03, 1.05), xlabel=f"middle of the {width} closed IDs (1 fastest)", ylabel="accuracy")
        left.set_title(f"{task} task: a sliding band closed ({rows[0].inputs} inputs per class)")
        left.legend()
        places = np.arange(len(named))
        right.barh(places, [row.accuracy for row in named], color=TASK[task], alpha=0.75)
        right.errorbar(
            [row.accuracy for row in named], places, fmt="none", ecolor=NEUTRAL, elinewidth=1,
            xerr=np.array([[row.accuracy - row.low, row.high - row.accuracy] for row in named]).clip(0).T,
        )  # fmt: skip
        right.set_yticks(places, [row.variation.replace(" in ", ", layers ") for row in named])
        right.invert_yaxis()
        right.set(xlim=(0, 1.03), xlabel="accuracy, mean over hops (95 %)")
        right.set_title("bands closed or alone")
        return save_figure(figure, results.directory / "frequency-gating")


def _task(results: Results) -> str:
    return str(results.settings()["task"]["name"])


def _pictured(results: Results) -> list[tuple[int, int, int, str]]:
    """The layers whose geometry is clearest: layer, head, plane and a caption."""
    if results.has("queries"):
        clearest = clearest_turns(results.read("queries", QueryTurn))
        turns = sorted(clearest, key=lambda row: -row.agreement * row.r2)[:PICTURED]
        return [
            (r.layer, r.head, r.plane, f"integers {r.integers}: slope {r.slope:.2f} (theory {r.predicted:.2f})")
            for r in sorted(turns, key=lambda row: (row.layer, row.head))
        ]
    matches = sorted(results.read("matching", LetterMatching), key=lambda row: -row.matching)[:PICTURED]
    return [
        (r.layer, r.head, r.plane, f"queries match keys: {r.matching:.2f}")
        for r in sorted(matches, key=lambda row: (row.layer, row.head))
    ]


def _construction(axes: Axes, task: str, frequency: float, names: list[str]) -> None:
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


def _trained(axes: Axes, task: str, rows: list[PlaneVector]) -> None:
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
                pointer = row.name.isdigit()
                axes.plot(
                    x, y, "^" if pointer else "s", color="#1f3b73" if pointer else "black", markersize=4, alpha=0.6
                )
                if task == "letter" and len(here) > 1:
                    axes.annotate(row.name, (x, y), (3, 3), textcoords="offset points", fontsize=7)
