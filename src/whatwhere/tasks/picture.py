"""A sequence drawn for the terminal, as in Figure 1: shaded windows, and arrows for the hops.

It is readable without colour too: rulers mark the windows and arrows the path.
"""

from __future__ import annotations

from itertools import pairwise

from rich.text import Text

from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task

TARGET, CONTEXT, QUERY = "on grey23", "on grey11", "bold reverse"
HOPS = ("bright_cyan", "bright_magenta", "bright_yellow", "bright_green")
"""The colours of the hops, in turn."""


def draw(task: Task, batch: Batch, row: int, width: int = 80) -> Text:
    """Draws one sequence of a batch; tokens are closer together if they do not fit in ``width`` columns."""
    tokens = batch.tokens[row]
    names = [task.vocabulary.names[token] for token in tokens]
    path = [int(position) for position in batch.paths[row] if position >= 0]
    longest = max(map(len, names))
    whole, items = task.vocabulary.whole, task.vocabulary.read(tokens[None])[0]
    labels = [whole.describe_hop(whole.names[items[position]]) for position in path[:-1]]
    roomy = len(tokens) * (longest + 2) + max(map(len, labels)) + 2 <= width
    cell = longest + (2 if roomy else 1)
    columns = [cell * position + (cell - 1) // 2 for position in range(len(tokens))]
    edge = cell * len(tokens)

    hops = len(path) - 1
    picture = Text(f"{hops} hop{'s' if hops > 1 else ''}, answer ")
    picture.append(names[path[-1]], "bold")
    picture.append("\n")
    target, query = len(tokens) - task.pointing, len(tokens) - task.parts
    windows = [("target window", target), ("pre-target window", query - target), ("query", task.parts)]
    picture.append("".join(_ruler(name, cell * count) for name, count in windows).rstrip() + "\n", "dim")
    for position, name in enumerate(names):
        style = TARGET if position < target else CONTEXT if position < query else QUERY
        if position in path[1:]:
            style = f"bold {HOPS[(path.index(position) - 1) % len(HOPS)]} {style}"
        picture.append(_centred(name, cell, columns[0]), style)
    picture.append("\n")

    # The line under the tokens starts a vertical line at each token of the path. Each hop then takes one row, from
    # right to left, and ends the vertical line of the token where it lands.
    line = {columns[position]: ("│" if position == path[0] else "┊", "dim") for position in path}
    picture.append_text(_row(line, edge))
    for hop, (start, end) in enumerate(pairwise(path)):
        colour = HOPS[hop % len(HOPS)]
        line = {columns[position]: ("┊", "dim") for position in path[hop + 2 :]}
        line |= dict.fromkeys(range(columns[end] + 1, columns[start]), ("─", colour))
        line |= {columns[end]: ("◀", colour), columns[start]: ("╯", colour)}
        picture.append_text(_row(line, edge, labels[hop], colour))
    return picture


def _ruler(name: str, width: int) -> str:
    if len(name) + 4 > width:
        return name.center(width) if len(name) <= width else f" {name}"
    return f"├{f' {name} ':─^{width - 3}}┤ "


def _centred(name: str, cell: int, middle: int) -> str:
    before = middle - (len(name) - 1) // 2
    return " " * before + name + " " * (cell - before - len(name))


def _row(line: dict[int, tuple[str, str]], edge: int, label: str = "", colour: str = "") -> Text:
    row = Text()
    end = edge if label else max(line) + 1
    for column in range(end):
        row.append(*line.get(column, (" ", "")))
    return row.append(f"  {label}\n" if label else "\n", colour)
