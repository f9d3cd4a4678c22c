"""Figure 3: information flow on one input, the trained model above the ideal functions, with the same rows and columns.

Columns are tokens, rows are layers, time runs down. At each position of the path an arrow comes from the position that
it looks at most. In a filled disc the answer can be read; heavy coloured arrows are the looks that brought it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.studies.mechanism.flow import Flow, Look, carriers
from whatwhere.studies.style import NEUTRAL, PALE, TASK, save_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WINDOW = "#f1f1f1"
ROW, COLUMN, MARGIN, LEGEND = 0.36, 0.50, 1.9, 8.5
"""Inches: a layer, a token, what stands beside them, and the least width that the legend needs."""
FUNCTIONS = {"index": "Index", "retrieval": "Retrieval", "reflexive": "Reflexive"}


def draw_flow(flow: Flow, path: Path) -> list[Path]:
    """Draws the two panels and writes them."""
    from matplotlib import pyplot

    with style():
        size = (max(LEGEND, COLUMN * len(flow.tokens) + MARGIN), 2 * ROW * (flow.layers + 2.6) + 0.9)
        figure, panels = pyplot.subplots(2, 1, figsize=size, sharex=True)
        hops = len(flow.path) - 1
        verdict = "" if flow.predicted == flow.answer else f"; the model says {flow.predicted}"
        figure.suptitle(
            f"{flow.task.capitalize()} task, {hops} hop{'s' if hops > 1 else ''}, answer {flow.answer}{verdict}",
            x=0.01, ha="left", fontsize=11, weight="bold",
        )  # fmt: skip
        _panel(panels[0], flow, flow.trained, "Trained model")
        _panel(panels[1], flow, flow.ideal, "Ideal functions")
        _legend(figure, TASK[flow.task])
        return save_figure(figure, path)


def _panel(axes: Axes, flow: Flow, looks: tuple[Look, ...], title: str) -> None:
    colour = TASK[flow.task]
    brought = carriers(flow, looks)
    answer_at = flow.path[-1]
    axes.axvspan(-0.5, flow.target - 0.5, color=WINDOW, linewidth=0)
    for position, token in enumerate(flow.tokens):
        _token(axes, 0, position, token, position in flow.path, position == answer_at, colour)
    for look in looks:
        if look.position in flow.path[:-1]:
            _arrow(axes, look, colour if brought.get(look.position) == look.layer else None)
            holds = look.token == flow.answer
            # What a trained pointer holds before the answer comes cannot be read, so its own token stands in, pale.
            shown = look.token if holds or look.function else flow.tokens[look.position]
            _token(axes, look.layer + 1, look.position, shown, True, holds, colour)
    functions = {look.layer: FUNCTIONS.get(look.function, "") for look in looks}
    axes.set_yticks(range(flow.layers + 1))
    axes.set_yticklabels(["input", *(f"{functions[layer]}  layer {layer}".strip() for layer in range(flow.layers))])
    axes.set_ylim(flow.layers + 0.6, -0.7)
    axes.set_xlim(-0.6, len(flow.tokens) - 0.4)
    axes.set_xticks([])
    axes.grid(False)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_title(title)


def _arrow(axes: Axes, look: Look, brings: str | None) -> None:
    """From the key before the layer to the query after it; heavy and coloured if it brings the answer."""
    colour = NEUTRAL if brings is None else brings
    if look.layer and look.key != look.position:
        axes.plot(look.key, look.layer, ".", color=colour, markersize=3, alpha=0.6, zorder=2)
    axes.annotate(
        "",
        xy=(look.position, look.layer + 1),
        xytext=(look.key, look.layer),
        arrowprops={
            "arrowstyle": f"-|>,head_width={0.22 if brings else 0.13},head_length={0.42 if brings else 0.28}",
            "color": colour,
            "alpha": 1.0 if brings else 0.15 + 0.55 * look.weight,
            "linewidth": 2.4 if brings else 0.5 + 0.9 * look.weight,
            "shrinkA": 8 if brings or look.key == look.position else 2,
            "shrinkB": 8,
        },
        zorder=3 if brings else 2,
    )


def _token(axes: Axes, row: int, position: int, token: str, on_path: bool, answer: bool, colour: str) -> None:
    """A token, in a disc if it is on the path; the disc is filled where the answer can be read."""
    from matplotlib.patheffects import withStroke

    if on_path:
        face, edge = (colour, colour) if answer else ("white", NEUTRAL if row == 0 else PALE)
        axes.plot(position, row, "o", markersize=15, mfc=face, mec=edge, mew=0.9, zorder=4)
    axes.text(
        position,
        row,
        token,
        ha="center",
        va="center_baseline",
        fontsize=7.5,
        color="white" if answer else "black" if row == 0 else "#8a8a8a",
        weight="bold" if answer or (on_path and row == 0) else "normal",
        path_effects=[] if on_path else [withStroke(linewidth=2.5, foreground="white")],
        zorder=5,
    )


def _legend(figure: Figure, colour: str) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], marker="o", linestyle="", color=colour, markersize=9, label="the answer can be read here"),
        Line2D([], [], color=colour, linewidth=2.4, label="strongest attention that brings it"),
        Line2D([], [], color=NEUTRAL, linewidth=1, alpha=0.6, label="strongest attention (darker: more of it)"),
        Line2D([], [], marker="s", linestyle="", color=PALE, markersize=9, label="target window"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=7.5)
