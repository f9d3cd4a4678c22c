"""Figure 1: an input of each task with its windows and its hops, from the flows that ``whatwhere mechanism`` kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.store.storage import write_csv
from whatwhere.studies.mechanism.flow import Flow
from whatwhere.studies.style import NEUTRAL, TASK, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "figure-1-tasks"
COLUMNS = ("task", "position", "token", "window", "hop")
TARGET, PRE_TARGET, QUERY = "target", "pre-target", "query"
WINDOW = "#e4e4e4"


def draw_examples(flows: Sequence[Path], into: Path) -> list[Path]:
    """Draws one input per task, and writes its tokens beside it.

    Args:
        flows: ``flow.json`` of each model.
        into: where the files go.

    Raises:
        WhatwhereError: a flow is missing or damaged.
    """
    from matplotlib import pyplot

    read = [Flow.read(path) for path in flows]
    widest = max(len(flow.tokens) for flow in read)
    with style():
        figure, panels = pyplot.subplots(
            len(read), 1, figsize=(max(6.0, 0.52 * widest + 0.6), 2.1 * len(read)), squeeze=False
        )
        for axes, flow in zip(panels[:, 0], read, strict=True):
            _draw(axes, flow, widest)
        write_csv(into / f"{NAME}.csv", COLUMNS, [row for flow in read for row in example_rows(flow)])
        return save_figure(figure, into / NAME)


def example_rows(flow: Flow) -> Iterator[tuple[object, ...]]:
    """Every token with its window; ``hop`` counts along the path, 0 for the query, and is empty elsewhere."""
    for position, token in enumerate(flow.tokens):
        hop = flow.path.index(position) if position in flow.path else ""
        yield flow.task, position, token, window_of(flow, position), hop


def window_of(flow: Flow, position: int) -> str:
    """The window that a position is in."""
    if position == len(flow.tokens) - 1:
        return QUERY
    return TARGET if position < flow.target else PRE_TARGET


def _draw(axes: Axes, flow: Flow, widest: int) -> None:
    """Tokens in a row, the target window shaded; arcs walk back from the query to the answer."""
    from matplotlib.patches import FancyArrowPatch, Rectangle

    colour, last = TASK[flow.task], len(flow.tokens) - 1
    for position, token in enumerate(flow.tokens):
        window = window_of(flow, position)
        answer = position == flow.path[-1]
        face = colour if answer else WINDOW if window == TARGET else "white"
        edge = colour if position in flow.path else "#999999"
        box = Rectangle((position - 0.46, 0), 0.92, 0.8, facecolor=face, edgecolor=edge, linewidth=1.1, zorder=2)
        box.set_linewidth(2.0 if position in flow.path else 0.8)
        axes.add_patch(box)
        weight = "bold" if position in flow.path else "normal"
        shade = "white" if answer else "black"
        axes.text(position, 0.4, token, ha="center", va="center", fontsize=9, weight=weight, color=shade, zorder=3)
    for hop, (start, end) in enumerate(zip(flow.path, flow.path[1:], strict=False), start=1):
        bend = min(0.75, 1.9 / (start - end + 1))
        arrow = FancyArrowPatch(
            (start, 0.86), (end, 0.86), connectionstyle=f"arc3,rad={bend:.2f}", arrowstyle="-|>", mutation_scale=10,
            color=colour, linewidth=1.5, zorder=4,
        )  # fmt: skip
        axes.add_patch(arrow)
        height = 0.95 + 0.5 * bend * (start - end)
        axes.text(
            (start + end) / 2, height, str(hop), ha="center", va="bottom", fontsize=8, color=colour, weight="bold"
        )
    for name, low, high in ((TARGET, 0, flow.target - 1), (PRE_TARGET, flow.target, last - 1)):
        axes.text((low + high) / 2, -0.32, f"{name} window", ha="center", va="top", fontsize=8, color=NEUTRAL)
    axes.text(last, -0.32, QUERY, ha="center", va="top", fontsize=8, color=NEUTRAL)
    hops = len(flow.path) - 1
    axes.set_title(f"{flow.task.capitalize()} task, {hops} hops: the answer is {flow.answer}", weight="bold")
    axes.set(xlim=(-0.7, widest - 0.3), ylim=(-0.8, 2.9))
    axes.set_axis_off()
