"""Figures of the chat-model benchmark, drawn from the tables of ``DIR/llm``: Figure 5C and D, positional profiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.studies.chat.table import QUOTED, ProfileRow, TableRow
from whatwhere.studies.results import Results
from whatwhere.studies.style import NEUTRAL, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = "osD^vPX"


def draw_llm(directory: Path) -> list[Path]:
    """Draws every figure of one ``DIR/llm`` into it.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    results = Results(directory)
    return [*draw_accuracy(results), *draw_profile(results)]


def draw_accuracy(results: Results) -> list[Path]:
    """Accuracy against the size of the window: a panel per task, measured models solid and quoted ones dashed."""
    from matplotlib import pyplot

    rows = results.read("table", TableRow)
    tasks = sorted(dict.fromkeys(row.task for row in rows), key=_task_order)
    models = list(dict.fromkeys((row.source, row.model) for row in rows))
    with style():
        figure, panels = pyplot.subplots(
            1, len(tasks), figsize=(0.6 + 4.6 * len(tasks), 4.4), sharey=True, squeeze=False
        )
        for axes, task in zip(panels[0], tasks, strict=True):
            for index, (source, model) in enumerate(models):
                here = [row for row in rows if (row.task, row.source, row.model) == (task, source, model)]
                if here:
                    _curve(axes, here, index)
            _floor(axes, [row for row in rows if row.task == task])
            axes.set_title(_title(task))
            axes.set_xscale("log")
            _ticks(axes, [row.size for row in rows if row.task == task])
            axes.set_xlabel("tokens before the query")
            axes.set_ylim(-0.03, 1.05)
        panels[0][0].set_ylabel("strict accuracy, mean and sd over runs")
        handles = {
            label: line for axes in panels[0] for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside right upper", fontsize=7)
        return save_figure(figure, results.directory / "figure-5cd-llm")


def draw_profile(results: Results) -> list[Path]:
    """Accuracy against the distance of the answer, for each measured model: a row per task, a line per size.

    Where there are one-hop tasks they alone are shown: with several hops the answer's distance is not that of a hop.
    """
    from matplotlib import colormaps, pyplot

    everything = results.read("profile", ProfileRow)
    rows = [row for row in everything if row.task.startswith("one_hop")] or everything
    tasks = sorted(dict.fromkeys(row.task for row in rows), key=_task_order)
    models = list(dict.fromkeys(row.model for row in rows))
    sizes = sorted({row.size for row in rows})
    colours = dict(zip(sizes, colormaps["viridis"]([i / len(sizes) for i in range(len(sizes))]), strict=True))
    with style():
        figure, panels = pyplot.subplots(
            len(tasks),
            len(models),
            figsize=(1.0 + 3.2 * len(models), 0.6 + 2.6 * len(tasks)),
            sharey=True,
            squeeze=False,
        )
        for line, task in zip(panels, tasks, strict=True):
            for axes, model in zip(line, models, strict=True):
                for size in sizes:
                    here = [
                        r for r in rows if (r.model, r.task, r.size) == (model, task, size) and not isnan(r.accuracy)
                    ]
                    if here:
                        x = [(row.near + row.far) / 2 for row in here]
                        axes.plot(x, [row.accuracy for row in here], "o-", color=colours[size], markersize=2.5,
                                  linewidth=1, label=str(size))  # fmt: skip
                        axes.fill_between(x, [row.low for row in here], [row.high for row in here],
                                          color=colours[size], alpha=0.12, linewidth=0)  # fmt: skip
                axes.set_visible(axes.has_data())
                axes.set_title(f"{model}\n{_title(task)}", fontsize=8)
                axes.set_ylim(-0.03, 1.05)
                axes.set_xlabel("distance of the answer (tokens)")
            line[0].set_ylabel("strict accuracy (95 %)")
        handles = {
            label: line for axes in panels.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        ordered = sorted(handles, key=int)
        figure.legend(
            [handles[label] for label in ordered], ordered, loc="outside right upper", fontsize=7, title="size"
        )
        return save_figure(figure, results.directory / "profile-llm")


def _curve(axes: Axes, rows: Sequence[TableRow], index: int) -> None:
    quoted = rows[0].source == QUOTED
    colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
    axes.errorbar(
        [row.size for row in rows], [row.mean for row in rows],
        yerr=[0.0 if isnan(row.sd) else row.sd for row in rows], fmt=f"{'--' if quoted else '-'}{mark}",
        color=colour, markerfacecolor="white" if quoted else colour, markersize=4, linewidth=1.0 if quoted else 1.6,
        elinewidth=0.8, label=rows[0].model + (" (quoted)" if quoted else ""),
    )  # fmt: skip
    partial = [row for row in rows if row.samples < row.planned]
    axes.plot([row.size for row in partial], [row.mean for row in partial], "x", color=colour, markersize=9,
              label="partial result" if partial else "_")  # fmt: skip


def _floor(axes: Axes, rows: Sequence[TableRow]) -> None:
    """The two floors of guessing."""
    floor = {row.size: row.floor for row in sorted(rows, key=lambda row: row.size)}
    window = {row.size: row.window_floor for row in sorted(rows, key=lambda row: row.size)}
    axes.plot(
        list(floor), list(floor.values()), ":", color=NEUTRAL, linewidth=1.2, label="floor: a guess without a look"
    )
    if not any(isnan(value) for value in window.values()):
        axes.plot(list(window), list(window.values()), "-.", color=NEUTRAL, linewidth=0.8,
                  label="floor: any token of the window")  # fmt: skip


def _task_order(task: str) -> tuple[bool, bool]:
    return task.startswith("multi"), task.endswith("letter")


def _title(task: str) -> str:
    kind, name = task.rsplit("_", 1)
    return f"{name} task, {'one hop' if kind == 'one_hop' else 'one to four hops'}"


def _ticks(axes: Axes, sizes: Sequence[int]) -> None:
    kept: list[int] = []
    for size in sorted(set(sizes)):
        if not kept or size >= 1.45 * kept[-1]:
            kept.append(size)
    axes.set_xticks(kept, [str(size) for size in kept])
    axes.minorticks_off()
