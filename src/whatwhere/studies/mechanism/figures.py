"""The overview of a model's mechanism, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from whatwhere.heads.estimate import Estimate
from whatwhere.heads.roles import RoleShare
from whatwhere.studies.mechanism import path_tables, tables
from whatwhere.studies.mechanism.summary import short_heads
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, NEUTRAL, PALE, TASK, error_bars
from whatwhere.trace.layer import counted

FAINT, LABELLED = 0.02, 0.1
"""Effects of edges from which on they are drawn, and named."""


def draw_overview(results: Mapping[str, Results]) -> Figure:
    """Eight panels: four that observe, two that intervene, two about shortcuts."""
    (one,) = results.values()
    task, colour = one.task, TASK[one.task]
    readout, patching = one.rows("readout", tables.Readable), one.rows("patching", tables.Patched)
    most = max(row.hops for row in readout)
    roles = [row for row in one.rows("roles", RoleShare) if row.queries == "path" and row.distance is None]
    longest = [row for row in readout if row.hops == most]
    last = [row for row in patching if row.changed_hop == most]
    pointers, moves = one.rows("pointers", tables.Pointer), one.rows("moves", tables.Move)
    figure, panels = pyplot.subplots(2, 4, figsize=(15, 8.4))
    title = f"Mechanism of the {task} model ({one.settings.inputs} inputs)"
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    for axes, rows, column, line, title in (
        (panels[0, 0], roles, lambda r: r.role, _head, "strongest key of path positions"),
        (panels[0, 1], longest, lambda r: f"p{r.position}", _layer, f"answer readable at p_r, {most} hops"),
        (panels[0, 2], pointers, lambda r: f"p{r.ahead}", _layer, "address of p_k decodable at p0"),
        (panels[0, 3], moves, _nearer, _head, "hops nearer, when the answer comes"),
        (panels[1, 1], last, lambda r: f"p{r.position}", _layer, f"patched state carries hop {most}"),
    ):
        _heat(axes, rows, column, line, title, colour)
    ablation = one.rows("ablation", tables.Ablation)
    _heat(panels[1, 0], ablation, _hops, _head, "accuracy, one head ablated", colour, "after")
    _draw_layers_used(panels[1, 2], one.rows("layers_used", tables.LayersUsed), colour)
    _draw_chains(panels[1, 3], one.rows("chains", tables.Chain), colour)
    return figure


def draw_needs(results: Mapping[str, Results]) -> Figure:
    """Accuracy without groups of heads, and along the search for the fewest heads that suffice."""
    (one,) = results.values()
    groups, task = one.rows("groups", tables.GroupAblation), one.task
    size = (11, max(4.4, 0.27 * len({row.group for row in groups}) + 1.6))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=size, width_ratios=(1, 1.3))
    title = f"What the {task} model needs ({one.settings.inputs} inputs)"
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    _heat(left, groups, _hops, lambda r: r.group, "accuracy with these heads ablated", TASK[task], "after")
    left.set_ylabel("")
    _draw_elimination(right, one.rows("elimination", tables.Elimination), one.rows("sufficient", tables.SufficientSet))
    return figure


def draw_copying(results: Mapping[str, Results]) -> Figure:
    """The chain of hops as edges, what flows before and after the answer comes, and what keeps it at the last token."""
    (one,) = results.values()
    task = one.task
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(15, 5.4), width_ratios=(1.2, 1, 1))
    title = f"What flows along the path of the {task} model ({one.settings.inputs} inputs)"
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    layers = 1 + max(row.layer for row in one.rows("ablation", tables.Ablation))
    _draw_edges(left, one.rows("edges", path_tables.Edge), layers, TASK[task])
    _draw_selectivity(middle, one.rows("selectivity", path_tables.Selectivity), TASK[task])
    for row in one.rows("decoders", path_tables.DecodedFlow):
        if (row.decoder, row.changed) == ("probe", "link"):
            middle.set_title(f"{middle.get_title()} (by a probe: {row.share.value:.2f})", fontsize=9.5)
    _draw_keeping(right, one.rows("keeping", path_tables.Keeping), TASK[task])
    return figure


def _draw_edges(axes: Axes, rows: Sequence[path_tables.Edge], layers: int, colour: str) -> None:
    """Positions of the path from the answer to the last token, time runs down; the wider, the larger the effect."""
    hops = max((row.hops for row in rows), default=1)
    for row in (row for row in rows if row.alone.value >= FAINT):
        start = (hops - row.from_position, -1 if row.from_layer is None else row.from_layer)
        end = (hops - row.to_position, layers if row.to_layer is None else row.to_layer)
        strength = min(1.0, row.alone.value)
        arrow = {"arrowstyle": "-|>", "color": colour, "alpha": 0.25 + 0.75 * strength, "linewidth": 0.4 + 3 * strength}
        axes.annotate("", xy=end, xytext=start, arrowprops={**arrow, "shrinkA": 5, "shrinkB": 5})
        axes.plot(*zip(start, end, strict=True), "o", color=NEUTRAL, markersize=4)
        if row.alone.value >= LABELLED:
            middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            axes.annotate(f"{row.alone.value:.2f}".removeprefix("0"), middle, fontsize=7, ha="center", va="bottom")
    axes.set_yticks(range(-1, layers + 1), ["token", *map(str, range(layers)), "answer"])
    axes.set_xticks(range(hops + 1), [f"p{hops - at}" for at in range(hops + 1)])
    axes.set(ylim=(layers + 0.6, -1.6), xlim=(-0.4, hops + 0.4), ylabel="layer", xlabel="position of the path")
    axes.set_title("edges between the heads that suffice (share of a changed answer)", fontsize=9.5)


def _draw_selectivity(axes: Axes, rows: Sequence[path_tables.Selectivity], colour: str) -> None:
    """The flow of a look in each layer; heads of one layer stand beside each other."""
    heads = [row for row in rows if row.layer is not None]
    every = next(row for row in rows if row.layer is None)
    where = [f"{row.layer}.{row.head}".removesuffix(".0") for row in heads]
    for what, shade, mark, shift in (("before", NEUTRAL, "s", -0.12), ("present", colour, "o", 0.12)):
        points = [(at + shift, one) for at, row in enumerate(heads) if (one := getattr(row, what)).n]
        if points:
            places, estimates = zip(*points, strict=True)
            _errorbar(axes, places, estimates, shade, f"{what}: {getattr(every, what).value:.3f} a look", f"{mark}-")
    axes.set_xticks(range(len(where)), where)
    axes.set(xlabel="layer", ylabel="logit difference moved by a swap of the value")
    axes.set_title(f"flow from an indexed place: {every.share.value:.2f} in time", fontsize=9.5)
    if axes.get_legend_handles_labels()[0]:  # a model that solves no pair has nothing to show
        axes.legend(fontsize=8)


def _draw_keeping(axes: Axes, rows: Sequence[path_tables.Keeping], colour: str) -> None:
    """Where the last token looks once it holds the answer, and what is answered without the heads from there on."""
    shown = [row for row in rows if row.layer is not None and row.kept.n]
    layers, bottom = [row.layer for row in shown if row.layer is not None], np.zeros(len(shown))
    for what, shade in (("itself", colour), ("equal", HOPS[3]), ("elsewhere", PALE)):
        height = np.array([getattr(row, what).value for row in shown])
        label = {"equal": "others that hold the answer"}.get(what, what)
        axes.bar(layers, height, bottom=bottom, color=shade, width=0.8, label=f"looks at {label}")
        bottom += height
    _errorbar(axes, layers, [row.residual for row in shown], "black", "right without heads from here on", "D--")
    axes.set(ylim=(0, 1.3), xlabel="layer", ylabel="share", yticks=np.arange(0, 1.1, 0.2))
    axes.set_title("the last token, once it holds the answer", fontsize=9.5)
    axes.legend(fontsize=7.5, loc="upper center", ncols=2)


def _draw_elimination(axes: Axes, steps: Sequence[tables.Elimination], sets: Sequence[tables.SufficientSet]) -> None:
    """Held-out accuracy of each hop class as heads go; a ring marks the set that suffices."""
    for row in sets:
        colour, shift = HOPS[(row.hops - 1) % len(HOPS)], 0.08 * (row.hops - 2.5)  # so that equal curves are seen
        of_class = [step for step in steps if step.hops == row.hops]
        x, y = ([step.kept + shift for step in of_class], [step.held_out.value for step in of_class])
        names = short_heads(row.heads).replace(" ", ", ")
        label = f"{counted(row.hops, 'hop')}: {'heads ' if '.' in names else 'layers ' if names else 'none'}{names}"
        axes.plot(x, y, "o-", color=colour, markersize=4, label=label)
        axes.plot(row.size + shift, row.held_out.value, "o", mfc="none", mec=colour, markersize=11, mew=1.6)
    axes.set(xlim=(max(step.kept for step in steps) + 0.6, -0.4), ylim=(0, 1.06))
    axes.set(xlabel="heads that are left (all others are ablated)", ylabel="accuracy on held-out inputs")
    axes.set_title("backward elimination (ring: the fewest heads that keep 0.95)", fontsize=9.5)
    axes.legend(fontsize=8, loc="lower left", title="heads that suffice", title_fontsize=8)


def _head(row: Any) -> str:
    return f"{row.layer}.{row.head}"


def _layer(row: Any) -> str:
    return "input" if row.layer is None else str(row.layer)


def _hops(row: Any) -> str:
    return f"hops {row.hops}"


def _nearer(row: tables.Move) -> str:
    return "else" if row.hops_nearer is None else str(row.hops_nearer)


def _heat(
    axes: Axes, rows: Sequence[Any], column: Callable[[Any], str], line: Callable[[Any], str], title: str, colour: str,
    value: str = "share",
) -> None:  # fmt: skip
    """A table of estimates, shaded; undefined cells stay empty."""
    columns, lines = list(dict.fromkeys(map(column, rows))), list(dict.fromkeys(map(line, rows)))
    grid = np.full((len(lines), len(columns)), np.nan)
    for row in rows:
        grid[lines.index(line(row)), columns.index(column(row))] = getattr(row, value).value
    shades = LinearSegmentedColormap.from_list("share", ["white", colour])
    axes.imshow(np.ma.masked_invalid(grid), cmap=shades, vmin=0, vmax=1, aspect="auto")
    for (y, x), share in np.ndenumerate(grid):
        if not np.isnan(share):
            text = f"{share:.2f}".replace("0.", ".").replace("1.00", "1")
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if share > 0.6 else "black")
    heads_alone = all(name.endswith(".0") for name in lines)
    axes.set_xticks(range(len(columns)), columns, fontsize=6.8)
    axes.set_yticks(range(len(lines)), [name.removesuffix(".0") if heads_alone else name for name in lines], fontsize=8)
    axes.set_ylabel("layer" if heads_alone or "." not in lines[-1] else "layer.head")
    axes.grid(False)
    axes.tick_params(length=0)
    axes.set_title(title, fontsize=9.5)


def _errorbar(
    axes: Axes, at: Any, estimates: Sequence[Estimate], colour: str, label: str = "this model", line: str = "o-"
) -> None:
    values = [one.value for one in estimates]
    axes.errorbar(at, values, error_bars(estimates), fmt=line, color=colour, capsize=3, markersize=4, label=label)


def _draw_layers_used(axes: Axes, rows: Sequence[tables.LayersUsed], colour: str) -> None:
    hops = [row.hops for row in rows]
    axes.plot(hops, hops, ":", color=NEUTRAL, label="one hop per layer")
    axes.plot(hops, [row.doubling for row in rows], "--", color=NEUTRAL, label="pointer doubling")
    _errorbar(axes, hops, [row.layers for row in rows], colour)
    axes.set(xticks=hops, ylim=(0, None), xlabel="hops", ylabel="layers until the answer can be read")
    axes.set_title("layers used", fontsize=9.5)
    axes.legend(fontsize=8)


def _draw_chains(axes: Axes, rows: Sequence[tables.Chain], colour: str) -> None:
    hops = [row.hops for row in rows]
    axes.axvspan(0.5, sum(row.trained for row in rows) + 0.5, color="#f1f1f1", linewidth=0)
    _errorbar(axes, hops, [row.accuracy for row in rows], colour)
    axes.plot(hops, [row.guess for row in rows], ":", color=NEUTRAL, label="guessing among similar tokens")
    axes.set(xticks=hops, ylim=(0, 1.04), xlabel="hops (shaded: trained)", ylabel="accuracy")
    axes.set_title("longer chains", fontsize=9.5)
    axes.legend(fontsize=8)
