"""Figures of single inputs: Figure 1, the two tasks with their windows and hops, and Figure 3, the information flow.

In Figure 3 columns are tokens, rows are layers, time runs down; the trained model is above the ideal functions. At each
position of the path an arrow comes from the position that it looks at most. In a filled disc the answer can be read;
heavy coloured arrows are the looks that brought it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.patheffects import withStroke

from whatwhere.studies.mechanism.examples import carriers
from whatwhere.studies.mechanism.tables import Example, Look
from whatwhere.studies.results import Results
from whatwhere.studies.style import NEUTRAL, PALE, TASK
from whatwhere.trace.layer import counted

WINDOW = "#e8e8e8"
ROW, COLUMN, MARGIN, LEGEND = 0.36, 0.50, 1.9, 8.5
"""Inches: a layer, a token, what is beside them, and the least width that the legend needs."""


def draw_tasks(results: Mapping[str, Results]) -> Figure:
    """Figure 1: the shown input of each model, with its windows and its hops."""
    shown = {name: one.rows("examples", Example)[0] for name, one in results.items()}
    widest = max(len(example.tokens.split()) for example in shown.values())
    size = (0.52 * max(8, widest) + 0.6, 2.1 * len(shown))  # a fixed scale, so that each number is above its arc
    figure, panels = pyplot.subplots(len(shown), 1, figsize=size, squeeze=False)
    for axes, (name, example) in zip(panels[:, 0], shown.items(), strict=True):
        _draw_input(axes, example, results[name].task)
        axes.set(xlim=(-0.7, max(8, widest) - 0.3), ylim=(-0.8, 2.9))
    return figure


def _draw_input(axes: Axes, example: Example, task: str) -> None:
    """Tokens in a row, the target window shaded; arcs walk back from the query to the answer."""
    tokens, path = example.tokens.split(), _path(example)
    colour, last = TASK[task], len(tokens) - 1
    for position, token in enumerate(tokens):
        on_path, answer = position in path, position == path[-1]
        face = colour if answer else WINDOW if position < example.target else "white"
        edge, width = (colour, 2.0) if on_path else ("#999999", 0.8)
        axes.add_patch(Rectangle((position - 0.46, 0), 0.92, 0.8, facecolor=face, edgecolor=edge, linewidth=width))
        weight, shade = "bold" if on_path else "normal", "white" if answer else "black"
        axes.text(position, 0.4, token, ha="center", va="center", fontsize=9, weight=weight, color=shade)
    for hop, (start, end) in enumerate(pairwise(path), start=1):
        bend = min(0.75, 1.9 / (start - end + 1))
        arrow = FancyArrowPatch(
            (start, 0.86), (end, 0.86), connectionstyle=f"arc3,rad={bend:.2f}", arrowstyle="-|>", mutation_scale=10,
            color=colour, linewidth=1.5,
        )  # fmt: skip
        axes.add_patch(arrow)
        middle, height = (start + end) / 2, 0.95 + 0.5 * bend * (start - end)
        axes.text(middle, height, str(hop), ha="center", va="bottom", fontsize=8, color=colour, weight="bold")
    windows = [("target window", 0, example.target - 1), ("query", last, last)]
    if example.target < last:
        windows.append(("pre-target window", example.target, last - 1))
    for name, low, high in windows:
        axes.text((low + high) / 2, -0.32, name, ha="center", va="top", fontsize=8, color=NEUTRAL)
    axes.set_title(
        f"{task.capitalize()} task, {counted(example.hops, 'hop')}: the answer is {example.answer}", weight="bold"
    )
    axes.set_axis_off()


def draw_flow(results: Mapping[str, Results]) -> Figure:
    """Figure 3: the trained model above the ideal functions."""
    (one,) = results.values()
    example, looks = one.rows("examples", Example)[0], one.rows("flow", Look)
    task, tokens, layers = one.task, example.tokens.split(), 1 + max(look.layer for look in looks)
    size = (max(LEGEND, COLUMN * len(tokens) + MARGIN), 2 * ROW * (layers + 2.6) + 0.9)
    figure, panels = pyplot.subplots(2, 1, figsize=size, sharex=True)
    wrong = "" if example.predicted == example.answer else f"; the model answers {example.predicted}"
    title = f"{task.capitalize()} task, {counted(example.hops, 'hop')}, answer {example.answer}{wrong}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, weight="bold")
    for axes, source, heading in zip(panels, ("trained", "ideal"), ("Trained model", "Ideal functions"), strict=True):
        _panel(axes, example, [look for look in looks if look.source == source], TASK[task])
        axes.set_title(heading)
    _legend(figure, TASK[task])
    return figure


def _panel(axes: Axes, example: Example, looks: Sequence[Look], colour: str) -> None:
    tokens, path = example.tokens.split(), _path(example)
    layers = 1 + max(look.layer for look in looks)
    brought = carriers(looks, path, example.answer)
    axes.axvspan(-0.5, example.target - 0.5, color="#f1f1f1", linewidth=0)
    for position, token in enumerate(tokens):
        _token(axes, 0, position, token, position in path, position == path[-1], colour)
    for look in looks:
        if look.position in path[:-1]:
            _arrow(axes, look, colour if brought.get(look.position) == look.layer else None)
            holds = look.token == example.answer
            # What a trained pointer holds before the answer comes cannot be read: its own token is shown, pale.
            shown = look.token if holds or look.function else tokens[look.position]
            _token(axes, look.layer + 1, look.position, shown, True, holds, colour)
    functions = {look.layer: look.function.capitalize() for look in looks}
    names = ["input", *(f"{functions[layer]}  layer {layer}".strip() for layer in range(layers))]
    axes.set_yticks(range(layers + 1), names)
    axes.set(xticks=[], xlim=(-0.6, len(tokens) - 0.4), ylim=(layers + 0.6, -0.7))
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)


def _arrow(axes: Axes, look: Look, brings: str | None) -> None:
    """From the key before the layer to the query after it; heavy and coloured if it brings the answer."""
    colour = NEUTRAL if brings is None else brings
    if look.layer and look.key != look.position:
        axes.plot(look.key, look.layer, ".", color=colour, markersize=3, alpha=0.6, zorder=2)
    arrow = {
        "arrowstyle": f"-|>,head_width={0.22 if brings else 0.13},head_length={0.42 if brings else 0.28}",
        "color": colour,
        "alpha": 1.0 if brings else 0.15 + 0.55 * look.weight,
        "linewidth": 2.4 if brings else 0.5 + 0.9 * look.weight,
        "shrinkA": 8 if brings or look.key == look.position else 2,
        "shrinkB": 8,
    }
    start, end = (look.key, look.layer), (look.position, look.layer + 1)
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=3 if brings else 2)


def _token(axes: Axes, row: int, position: int, token: str, on_path: bool, answer: bool, colour: str) -> None:
    """A token, in a disc if it is on the path; the disc is filled where the answer can be read."""
    if on_path:
        face, edge = (colour, colour) if answer else ("white", NEUTRAL if row == 0 else PALE)
        axes.plot(position, row, "o", markersize=15, mfc=face, mec=edge, mew=0.9, zorder=4)
    shade = "white" if answer else "black" if row == 0 else "#8a8a8a"
    weight = "bold" if answer or (on_path and row == 0) else "normal"
    effects = [] if on_path else [withStroke(linewidth=2.5, foreground="white")]
    axes.text(
        position, row, token, ha="center", va="center_baseline", fontsize=7.5, color=shade, weight=weight,
        path_effects=effects, zorder=5,
    )  # fmt: skip


def _legend(figure: Figure, colour: str) -> None:
    entries = [
        Line2D([], [], marker="o", linestyle="", color=colour, markersize=9, label="the answer can be read here"),
        Line2D([], [], color=colour, linewidth=2.4, label="strongest attention that brings it"),
        Line2D([], [], color=NEUTRAL, linewidth=1, alpha=0.6, label="strongest attention (darker: more of it)"),
        Line2D([], [], marker="s", linestyle="", color=PALE, markersize=9, label="target window"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=7.5)


def _path(example: Example) -> list[int]:
    return [int(position) for position in example.path.split()]
