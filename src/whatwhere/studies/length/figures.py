"""Figures of length generalisation, drawn from the tables of ``DIR/length`` (Figure 5B and what foretells it)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whatwhere.studies.length.breaks import BreakRow
from whatwhere.studies.length.hop_tables import ChainRow, HopRow, working_cells
from whatwhere.studies.length.measure import LengthAccuracy
from whatwhere.studies.length.variations import Variation
from whatwhere.studies.results import Results
from whatwhere.studies.style import HOPS, NEUTRAL, TASK, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLAIN = Variation().name
COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = "osD^vPX"
LINES = ("-", "--", "-.", ":")


def draw_length(directory: Path) -> list[Path]:
    """Draws every figure of one ``DIR/length`` into it.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    results = Results(directory)
    return [*draw_accuracy(results), *draw_hops(results)]


def draw_accuracy(results: Results) -> list[Path]:
    """Accuracy by hop class with what the chain of hops foretells; and the variations, if there are any."""
    from matplotlib import pyplot

    rows = results.read("accuracy", LengthAccuracy)
    chain = results.read("chain", ChainRow) if results.has("chain") else []
    task = str(results.settings()["task"]["name"])
    names = list(dict.fromkeys(row.variation for row in rows))
    with style():
        figure, panels = pyplot.subplots(1, 2 if len(names) > 1 else 1, figsize=(11 if len(names) > 1 else 6, 4.2))
        left, *more = np.atleast_1d(panels)
        plain = [row for row in rows if row.variation == PLAIN]
        for hop in sorted({row.hop for row in plain if row.hop}):
            here = [row for row in plain if row.hop == hop]
            left.plot(_x(here), [row.accuracy for row in here], "-", color=HOPS[(hop - 1) % len(HOPS)], linewidth=1.2,
                      label=f"{hop} hop{'s' * (hop > 1)}")  # fmt: skip
        _curve(left, [row for row in plain if row.hop == 0], TASK[task], "o", "-", "mean (95 %)")
        for source, line in (("measured", "--"), ("foretold", ":")):
            here = [row for row in chain if (row.hop, row.rule, row.source) == (0, "mass", source)]
            if here:
                left.plot(_x(here), [row.share for row in here], line, color=NEUTRAL,
                          label=f"all hops hold, {source}")  # fmt: skip
        left.set_title(f"{task} task: accuracy against length")
        _finish(left, rows)
        for right in more:
            for index, name in enumerate(names):
                here = [row for row in rows if row.variation == name and row.hop == 0]
                _curve(right, here, COLOURS[index % 7], MARKS[index % 7], "-" if name == PLAIN else "--", name)
            right.set_title("changed at inference, without training")
            _finish(right, rows)
        return save_figure(figure, results.directory / "figure-5b-length")


def draw_hops(results: Results) -> list[Path]:
    """Attention mass and margin of each working kind of hop, measured and foretold; and all breaks side by side."""
    from matplotlib import pyplot

    rows = results.read("hops", HopRow)
    breaks = [row for row in results.read("breaks", BreakRow) if row.threshold == 0.5]
    trained = min(row.length for row in rows)
    cells = working_cells(rows, trained)
    with style():
        figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(14, 4.4), width_ratios=(1, 1, 1.1))
        for index, cell in enumerate(cells):
            colour, mark = COLOURS[index % 7], MARKS[index % 7]
            layer, head, to_go, jump = cell
            name = f"layer {layer}{f'.{head}' if head else ''}, {to_go} to go{f', jump {jump}' if jump > 1 else ''}"
            here = [row for row in rows if row.cell == cell and row.source == "measured"]
            foretold = [row for row in rows if row.cell == cell and row.source == "foretold"]
            left.plot(_x(here), [row.mass for row in here], f"-{mark}", color=colour, markersize=3, label=name)
            left.fill_between(
                _x(here), [r.mass_low for r in here], [r.mass_high for r in here], color=colour, alpha=0.15
            )
            left.plot(_x(foretold), [row.mass for row in foretold], ":", color=colour, linewidth=1)
            middle.plot(_x(here), [row.margin for row in here], f"-{mark}", color=colour, markersize=3)
            middle.fill_between(
                _x(here), [r.margin_low for r in here], [r.margin_high for r in here], color=colour, alpha=0.15
            )
            middle.plot(_x(foretold), [row.margin for row in foretold], ":", color=colour, linewidth=1)
        left.set_title("attention on the right key (dotted: foretold)")
        left.axhline(0.5, color=NEUTRAL, linewidth=0.8)
        middle.axhline(0, color=NEUTRAL, linewidth=0.8)
        middle.set_title("margin of the right key over the best wrong one")
        middle.set_ylabel("logits")
        for axes in (left, middle):
            axes.set_xscale("log")
            axes.set_xlabel("input length (tokens)")
            _ticks(axes, [row.length for row in rows])
        left.set_ylim(-0.03, 1.05)
        if cells:
            left.legend(fontsize=7, loc="lower left")
        _draw_breaks(right, breaks)
        return save_figure(figure, results.directory / "margins")


def _draw_breaks(axes: Axes, breaks: Sequence[BreakRow]) -> None:
    """Predicted against observed: where each share of inputs falls below one half."""
    longest = max(row.longest for row in breaks)
    shown = [row for row in breaks if row.hop == 0 and row.what != "margin"]
    for at, row in enumerate(shown):
        colour = TASK["number"] if row.what == "accuracy" else NEUTRAL
        low, length, high = (min(value, 1.25 * longest) for value in (row.low, row.length, row.high))
        axes.plot([low, high], [at, at], "-", color=colour, linewidth=2, alpha=0.5)
        axes.plot(length, at, ">" if length > longest else "o" if row.source == "measured" else "D", color=colour,
                  markerfacecolor=colour if row.source == "measured" else "white")  # fmt: skip
    names = [
        (f"layer {row.layer}, {row.to_go} to go" if row.layer >= 0 else row.what.replace("chain", "all hops,"))
        + ("" if row.what == "accuracy" else f", {row.source}")
        for row in shown
    ]
    axes.set_yticks(range(len(shown)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(16, longest), 1.35 * longest)
    _ticks(axes, [17, 33, 65, 145, 325, 850, longest])
    axes.set_xlabel(f"length at which half of the inputs fail (arrow: beyond {longest})")
    axes.set_title("observed break, and what attention says")


def draw_comparison(directories: Mapping[str, Path], into: Path) -> list[Path]:
    """Mean accuracy against length of several models in one figure."""
    from matplotlib import pyplot

    tasks = {name: str(Results(path).settings()["task"]["name"]) for name, path in directories.items()}
    by_task = len(set(tasks.values())) == len(tasks)  # then a task's own colour tells them apart
    with style():
        figure, axes = pyplot.subplots(figsize=(7, 4.2))
        everything = []
        for index, (name, directory) in enumerate(directories.items()):
            rows = [row for row in Results(directory).read("accuracy", LengthAccuracy) if row.variation == PLAIN]
            everything += rows
            colour = TASK[tasks[name]] if by_task else COLOURS[index % 7]
            mean = [row for row in rows if row.hop == 0]
            _curve(axes, mean, colour, MARKS[index % 7], LINES[index % 4], f"{Path(name).stem}: {tasks[name]} task")
        axes.set_title("accuracy against length, mean over hop classes (95 %)")
        _finish(axes, everything)
        return save_figure(figure, into / "comparison")


def _curve(axes: Axes, rows: Sequence[LengthAccuracy], colour: str, mark: str, line: str, label: str) -> None:
    axes.plot(_x(rows), [row.accuracy for row in rows], f"{line}{mark}", color=colour, markersize=4, label=label)
    axes.fill_between(_x(rows), [row.low for row in rows], [row.high for row in rows], color=colour, alpha=0.15)


def _finish(axes: Axes, rows: Sequence[LengthAccuracy]) -> None:
    axes.set_xscale("log")
    _ticks(axes, [row.length for row in rows])
    axes.set_ylim(-0.03, 1.05)
    axes.axhline(0.9, color=NEUTRAL, linewidth=0.6, linestyle=":")
    axes.axhline(0.5, color=NEUTRAL, linewidth=0.6, linestyle=":")
    axes.set(xlabel="input length (tokens)", ylabel="accuracy")
    axes.legend(fontsize=7)


def _ticks(axes: Axes, lengths: Sequence[int]) -> None:
    """Ticks at measured lengths, leaving out those too near for their labels."""
    kept: list[int] = []
    for length in sorted(set(lengths)):
        if not kept or length >= 1.45 * kept[-1]:
            kept.append(length)
    axes.set_xticks(kept, [str(length) for length in kept])
    axes.minorticks_off()


def _x(rows: Sequence[LengthAccuracy] | Sequence[HopRow] | Sequence[ChainRow]) -> list[int]:
    return [row.length for row in rows]
