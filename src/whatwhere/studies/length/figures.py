"""Figures of length generalisation: Figure 5B, and what predicts it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.length.tables import (
    ACCURACY,
    AS_TRAINED,
    MARGIN,
    MASS,
    MEASURED,
    PREDICTED,
    Accuracy,
    Break,
    Chain,
    Hop,
    working_cells,
)
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, LINE, MARK, NEUTRAL, TASK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = "osD^vPX"
LINES = ("-", "--", "-.", ":")
LONGEST, NEAR_PERFECT = 850, 0.9
"""What the paper reports of the letter model."""
Point = tuple[int, Estimate]


def draw_accuracy(results: Mapping[str, Results]) -> Figure:
    """Accuracy by hop class with what the chain of hops predicts; beside it the changes at inference, if any."""
    from matplotlib import pyplot

    (one,) = results.values()
    rows, chain, task = one.rows("accuracy", Accuracy), one.rows("chain", Chain), task_of(one)
    names = list(dict.fromkeys(row.variation for row in rows))
    width = 2 if len(names) > 1 else 1
    figure, panels = pyplot.subplots(1, width, figsize=(1 + 5 * width, 4.6), squeeze=False)
    left = panels[0, 0]
    plain = [row for row in rows if row.variation == AS_TRAINED]
    for hop in sorted({row.hop for row in plain if row.hop is not None}):
        here = [row for row in plain if row.hop == hop]
        left.plot([row.length for row in here], [row.accuracy.value for row in here], color=HOPS[(hop - 1) % len(HOPS)],
                  linewidth=1.2, label=f"{hop} hop{'s' * (hop > 1)}")  # fmt: skip
    _curve(left, [(row.length, row.accuracy) for row in plain if row.hop is None], TASK[task], "o-", "mean (95 %)")
    for source, line in ((MEASURED, "--"), (PREDICTED, ":")):
        here = [row for row in chain if (row.hop, row.rule, row.source) == (None, MASS, source)]
        if here:
            left.plot([row.length for row in here], [row.share.value for row in here], line, color=NEUTRAL,
                      label=f"all hops hold, {source}")  # fmt: skip
    left.set_title(f"{task} task: accuracy against length")
    _finish(left, [row.length for row in rows])
    for right in panels[0, 1:]:
        for index, name in enumerate(names):
            here = [(row.length, row.accuracy) for row in rows if row.variation == name and row.hop is None]
            line = f"{MARKS[index % 7]}{'-' if name == AS_TRAINED else '--'}"
            _curve(right, here, COLOURS[index % 7], line, name, band=name == AS_TRAINED)
        right.set_title("changed at inference, without training")
        _finish(right, [row.length for row in rows])
    return figure


def draw_margins(results: Mapping[str, Results]) -> Figure:
    """Attention mass and margin of each working kind of hop, measured and predicted; and all breaks in one panel."""
    from matplotlib import pyplot

    (one,) = results.values()
    rows, breaks = one.rows("hops", Hop), [row for row in one.rows("breaks", Break) if row.threshold == 0.5]
    lengths = [row.length for row in rows]
    cells = working_cells(rows, min(lengths))
    shown = [row for row in breaks if row.hop is None and row.what != MARGIN]
    lines = len({_break_name(row) for row in shown})
    figure, (left, middle, right) = pyplot.subplots(
        1, 3, figsize=(14, max(4.4, 0.9 + 0.2 * lines)), width_ratios=(1, 1, 1.1)
    )
    for index, cell in enumerate(cells):
        colour, mark = COLOURS[index % 7], MARKS[(index + index // 7) % 7]
        for source, line in ((MEASURED, f"{mark}-"), (PREDICTED, ":")):
            here = [row for row in rows if row.cell == cell and row.source == source]
            label, band = (_cell_name(*cell) if source == MEASURED else ""), source == MEASURED
            _curve(left, [(row.length, row.mass) for row in here], colour, line, label, band=band)
            _curve(middle, [(row.length, row.margin) for row in here], colour, line, "", band=band)
    left.set_title("attention on the right key (dotted: predicted)")
    left.set(ylim=(-0.03, 1.05), ylabel="mean attention")
    left.axhline(0.5, color=NEUTRAL, linewidth=0.8)
    middle.axhline(0, color=NEUTRAL, linewidth=0.8)
    middle.set_title("margin of the right key over the best wrong one")
    middle.set_ylabel("logits")
    for axes in (left, middle):
        _length_axis(axes, lengths)
    if cells:
        left.legend(fontsize=7, loc="lower left", ncols=2 if len(cells) > 14 else 1)
    _draw_breaks(right, shown)
    return figure


def _draw_breaks(axes: Axes, shown: Sequence[Break]) -> None:
    """Predicted (diamonds) against observed (discs): where each share of inputs falls below one half."""
    longest = max(row.longest for row in shown)
    names = list(dict.fromkeys(_break_name(row) for row in shown))
    for row in shown:
        measured = row.source == MEASURED
        colour = TASK["number"] if row.what == ACCURACY else NEUTRAL
        at = names.index(_break_name(row)) + (0 if row.what == ACCURACY else -0.16 if measured else 0.16)
        low, length, high = (
            1.25 * longest if math.isnan(x) else x for x in (row.length.low, row.length.value, row.length.high)
        )
        axes.plot([low, high], [at, at], "-", color=colour, linewidth=1.5, alpha=0.5)
        axes.plot(length, at, ">" if length > longest else "o" if measured else "D", color=colour, markersize=4.5,
                  markerfacecolor=colour if measured else "white")  # fmt: skip
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    _length_axis(axes, [17, 33, 65, 145, 325, 850, longest])
    axes.set_xlim(min(16, longest), 1.35 * longest)
    axes.set_xlabel(f"length at which half of the inputs fail (arrow: beyond {longest})")
    axes.set_title("break: measured (filled), predicted (hollow)")


def draw_models(results: Mapping[str, Results]) -> Figure:
    """Figure 5B: mean accuracy against length of several models."""
    from matplotlib import pyplot

    tasks = {name: task_of(one) for name, one in results.items()}
    by_task = len(set(tasks.values())) == len(tasks)  # then a task's own colour tells them apart
    figure, axes = pyplot.subplots(figsize=(7, 4.4))
    lengths: list[int] = []
    for index, (name, one) in enumerate(results.items()):
        rows = [row for row in one.rows("accuracy", Accuracy) if row.variation == AS_TRAINED and row.hop is None]
        lengths += [row.length for row in rows]
        task = tasks[name]
        colour = TASK[task] if by_task else COLOURS[index % 7]
        line = f"{MARK[task]}{LINE[task]}" if by_task else f"{MARKS[index % 7]}{LINES[index % 4]}"
        label = f"{task} task" if by_task else f"{Path(name).name}: {task} task"
        _curve(axes, [(row.length, row.accuracy) for row in rows], colour, line, label)
    if "letter" in tasks.values() and max(lengths) >= LONGEST:
        axes.plot(
            LONGEST, NEAR_PERFECT, "^", color=NEUTRAL, markersize=7, label="the paper: letter above 0.9 up to 850"
        )
    axes.set_title("Trained models on longer inputs: mean over hop classes (95 %)")
    _finish(axes, lengths)
    return figure


def task_of(results: Results) -> str:
    """The name of the task that the model was trained on."""
    return str(results.inputs["task"]["name"])


def _cell_name(layer: int, head: int, to_go: int, jump: int) -> str:
    return f"layer {layer}{f'.{head}' if head else ''}, {to_go} to go{f', jump {jump}' if jump > 1 else ''}"


def _break_name(row: Break) -> str:
    if row.layer is None or row.head is None or row.to_go is None or row.jump is None:
        return row.what.replace("chain", "all hops,")
    return _cell_name(row.layer, row.head, row.to_go, row.jump)


def _curve(axes: Axes, points: Sequence[Point], colour: str, line: str, label: str, *, band: bool = True) -> None:
    """A line with its 95 % band."""
    lengths, shares = [length for length, _ in points], [share for _, share in points]
    thin = 1.0 if line == ":" else 1.6
    axes.plot(
        lengths, [s.value for s in shares], line, color=colour, linewidth=thin, markersize=3.5, label=label or None
    )
    if band:
        axes.fill_between(lengths, [s.low for s in shares], [s.high for s in shares], color=colour, alpha=0.15)


def _finish(axes: Axes, lengths: Sequence[int]) -> None:
    _length_axis(axes, lengths)
    for share in (0.9, 0.5):
        axes.axhline(share, color=NEUTRAL, linewidth=0.6, linestyle=":")
    axes.set(ylim=(-0.03, 1.05), ylabel="accuracy")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4)


def _length_axis(axes: Axes, lengths: Sequence[int]) -> None:
    """A logarithmic axis with ticks at measured lengths, leaving out those too near for their labels."""
    kept: list[int] = []
    for length in sorted(set(lengths)):
        if not kept or length >= 1.45 * kept[-1]:
            kept.append(length)
    axes.set_xscale("log")
    axes.set_xticks(kept, [str(length) for length in kept])
    axes.minorticks_off()
    axes.set_xlabel("input length (tokens)")
