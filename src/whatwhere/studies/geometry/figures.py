"""Figures of frequency use: the frequency figure, the paper's table of angles, and closed bands."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from whatwhere.model.rope import rope_frequencies
from whatwhere.studies.geometry.tables import PAPER_PLANES, SLIDING, VARIANCE, FrequencyId, GatedAccuracy
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, NEUTRAL, PALE, TASK, error_bars
from whatwhere.studies.terminal import spanned
from whatwhere.trace.layer import counted

PAPER_FREQUENCIES = rope_frequencies(2 * PAPER_PLANES, 10000.0)
"""The paper's frequencies, by ID less one."""


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
    theirs = "" if row.paper_id is None else f"{row.paper_id} ({float(PAPER_FREQUENCIES[row.paper_id - 1]):.4f})"
    return spanned(row.weighted_id, ".1f"), f"{row.frequency:.4f}", theirs


def _variance_ids(results: Results) -> list[FrequencyId]:
    return [row for row in results.rows("ids", FrequencyId) if row.measure == VARIANCE]
