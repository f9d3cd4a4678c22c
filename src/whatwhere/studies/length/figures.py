"""Figures of length generalisation: Figure 5B, and what predicts it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.studies.length import tables
from whatwhere.studies.length.tables import ACCURACY, AS_TRAINED, MARGIN, MASS, MEASURED, PREDICTED, Break, Hop
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, LINE, MARK, NEUTRAL, TASK, length_axis
from whatwhere.trace.layer import counted

COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = "osD^vPX"
LINES = ("-", "--", "-.", ":")
TOKENS = "input length (tokens)"
LONGEST, NEAR_PERFECT = 850, 0.9
"""What the paper reports of the letter model."""


def draw_accuracy(results: Mapping[str, Results]) -> Figure:
    """Accuracy by hop class with what the chain of hops predicts; beside it the changes at inference, if any."""
    (one,) = results.values()
    frame, chain, task = one.frame("accuracy"), one.frame("chain"), one.task
    means, plain = frame.query("hop.isna()"), frame.query("variation == @AS_TRAINED")
    width = min(2, frame.variation.nunique())
    figure, panels = pyplot.subplots(1, width, figsize=(1 + 5 * width, 4.6), squeeze=False)
    left = panels[0, 0]
    for hop in sorted(plain.hop.dropna().unique().tolist()):
        rows = plain.query("hop == @hop")
        colour, label = HOPS[(hop - 1) % len(HOPS)], counted(hop, "hop")
        left.plot(rows.length, rows.accuracy, color=colour, linewidth=1.2, label=label)
    _curve(left, means.query("variation == @AS_TRAINED"), ACCURACY, "o-", color=TASK[task], label="mean (95 %)")
    for source, rows in chain.query("hop.isna() and rule == @MASS").groupby("source"):
        line = "--" if source == MEASURED else ":"
        left.plot(rows.length, rows.share, line, color=NEUTRAL, label=f"all hops hold, {source}")
    left.set_title(f"{task} task: accuracy against length")
    for right in panels[0, 1:]:
        for index, (name, rows) in enumerate(means.groupby("variation", sort=False)):
            line, colour = f"{MARKS[index % 7]}{'-' if name == AS_TRAINED else '--'}", COLOURS[index % 7]
            _curve(right, rows, ACCURACY, line, band=name == AS_TRAINED, color=colour, label=name)
        right.set_title("changed at inference, without training")
    for axes in panels[0]:
        _finish(axes, frame.length)
    return figure


def draw_margins(results: Mapping[str, Results]) -> Figure:
    """Attention mass and margin of each working kind of hop, measured and predicted; and all breaks in one panel."""
    (one,) = results.values()
    frame = one.frame("hops")
    cells = tables.working_cells(one.rows("hops", Hop), min(frame.length))
    breaks = [row for row in one.rows("breaks", Break) if row.threshold == 0.5]
    shown = [row for row in breaks if row.hop is None and row.what != MARGIN]
    size = 14, max(4.4, 0.9 + 0.2 * len({(row.cell, row.what) for row in shown}))
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=size, width_ratios=(1, 1, 1.1))
    for index, (layer, head, to_go, jump) in enumerate(cells):
        here = frame.query("layer == @layer and head == @head and to_go == @to_go and jump == @jump")
        colour, mark = COLOURS[index % 7], MARKS[(index + index // 7) % 7]
        for source, line, width in ((MEASURED, f"{mark}-", 1.6), (PREDICTED, ":", 1.0)):
            rows, band = here.query("source == @source"), source == MEASURED
            label = _cell_name(layer, head, to_go, jump) if band else None
            _curve(left, rows, MASS, line, band=band, color=colour, linewidth=width, label=label)
            _curve(middle, rows, MARGIN, line, band=band, color=colour, linewidth=width)
    left.set_title("attention on the right key (dotted: predicted)")
    left.set(ylim=(-0.03, 1.05), ylabel="mean attention")
    left.axhline(0.5, color=NEUTRAL, linewidth=0.8)
    middle.axhline(0, color=NEUTRAL, linewidth=0.8)
    middle.set_title("margin of the right key over the best wrong one")
    middle.set_ylabel("logits")
    for axes in (left, middle):
        length_axis(axes, frame.length, TOKENS)
    if cells:
        left.legend(fontsize=7, loc="lower left", ncols=2 if len(cells) > 14 else 1)
    _draw_breaks(right, shown, TASK[one.task])
    return figure


def _draw_breaks(axes: Axes, shown: Sequence[Break], of_task: str) -> None:
    """Predicted (diamonds) against observed (discs): where each share of inputs falls below one half."""
    longest = max(row.longest for row in shown)
    names = list(dict.fromkeys(_break_name(row) for row in shown))
    for row in shown:
        measured, ends = row.source == MEASURED, (row.length.low, row.length.value, row.length.high)
        colour = of_task if row.what == ACCURACY else NEUTRAL
        at = names.index(_break_name(row)) + (0 if row.what == ACCURACY else -0.16 if measured else 0.16)
        low, length, high = (1.25 * longest if math.isnan(end) else end for end in ends)
        axes.plot([low, high], [at, at], "-", color=colour, linewidth=1.5, alpha=0.5)
        axes.plot(length, at, ">" if length > longest else "o" if measured else "D", color=colour, markersize=4.5,
                  markerfacecolor=colour if measured else "white")  # fmt: skip
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    length_axis(axes, [17, 33, 65, 145, 325, 850, longest])
    axes.set_xlim(min(16, longest), 1.35 * longest)
    axes.set_xlabel(f"length at which half of the inputs fail (arrow: beyond {longest})")
    axes.set_title("break: measured (filled), predicted (hollow)")


def draw_models(results: Mapping[str, Results]) -> Figure:
    """Figure 5B: mean accuracy against length of several models."""
    tasks = {name: one.task for name, one in results.items()}
    by_task = len(set(tasks.values())) == len(tasks)  # then a task's own colour tells them apart
    figure, axes = pyplot.subplots(figsize=(7, 4.4))
    lengths: set[int] = set()
    for index, (name, task) in enumerate(tasks.items()):
        rows = results[name].frame("accuracy").query("variation == @AS_TRAINED and hop.isna()")
        lengths |= set(rows.length)
        line = f"{MARK[task]}{LINE[task]}" if by_task else f"{MARKS[index % 7]}{LINES[index % 4]}"
        label = f"{task} task" if by_task else f"{Path(name).name}: {task} task"
        _curve(axes, rows, ACCURACY, line, color=TASK[task] if by_task else COLOURS[index % 7], label=label)
    if "letter" in tasks.values() and max(lengths) >= LONGEST:
        label = "the paper: letter above 0.9 up to 850"
        axes.plot(LONGEST, NEAR_PERFECT, "^", color=NEUTRAL, markersize=7, label=label)
    axes.set_title("Trained models on longer inputs: mean over hop classes (95 %)")
    _finish(axes, lengths)
    return figure


def _cell_name(layer: int | None, head: int | None, to_go: int | None, jump: int | None) -> str:
    return f"layer {layer}{f'.{head}' if head else ''}, {to_go} to go{f', jump {jump}' if jump != 1 else ''}"


def _break_name(row: Break) -> str:
    return row.what.replace("chain", "all hops,") if row.layer is None else _cell_name(*row.cell)


def _curve(axes: Axes, rows: pd.DataFrame, column: str, line: str, *, band: bool = True, **style: Any) -> None:
    """A line with its 95 % band."""
    axes.plot(rows.length, rows[column], line, markersize=3.5, **style)
    if band:
        axes.fill_between(rows.length, rows[f"{column}_low"], rows[f"{column}_high"], color=style["color"], alpha=0.15)


def _finish(axes: Axes, lengths: Iterable[int]) -> None:
    length_axis(axes, lengths, TOKENS)
    for share in (0.9, 0.5):
        axes.axhline(share, color=NEUTRAL, linewidth=0.6, linestyle=":")
    axes.set(ylim=(-0.03, 1.05), ylabel="accuracy")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4)
