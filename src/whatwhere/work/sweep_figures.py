"""A sweep compared: one figure and one page from ``sweep.csv`` and ``heads.csv``, which are all that is read.

Items that differ only in their seed stand in one line, a mark for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.page import assets
from whatwhere.page.document import assemble
from whatwhere.store.storage import read_csv, write_text
from whatwhere.studies import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE, PAGE = "figures/sweep", "sweep.html"
_MEASURED = ("accuracy", "positional", "symbolic", "pure_", "half_length", "steps", "seconds", "sequences")
"""How the columns begin that are no settings."""
_MOST_GROUPS = 60
"""Lines of the figure; the page has all."""
Row = Mapping[str, str]


def draw_sweep(directory: Path) -> list[Path]:
    """Draws ``DIR/figures/sweep.pdf`` and ``.png`` and writes ``DIR/sweep.html``.

    Raises:
        WhatwhereError: there is no table, or it is damaged.
    """
    rows = read_csv(directory / "sweep.csv", "the table of the sweep", ["item", "status", "problem"])
    heads = directory / "heads.csv"
    scores = read_csv(heads, "the heads of the sweep", ["item", "layer", "head"]) if heads.is_file() else []
    return [*_figure(groups_of(rows), directory / FIGURE), _page(rows, scores, directory)]


def settings_of(rows: Sequence[Row]) -> list[str]:
    """The columns that say what was varied: those with more than one value, and not the seed."""
    columns = [name for name in rows[0] if name not in ("item", "status", "problem", "seed")]
    settings = [name for name in columns if not name.startswith(_MEASURED)]
    return [name for name in settings if len({row[name] for row in rows} - {""}) > 1]


def groups_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Finished items by what they have in common besides the seed; the names are for people."""
    varied = settings_of(rows)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "done":
            words = [row[name] if name == "task" else f"{name} {row[name]}" for name in varied if row[name]]
            name = f"model {row['model']}" if row.get("model") else ", ".join(words) or row["task"]
            groups.setdefault(name, []).append(row)
    return groups


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    return [float(row[column]) for row in rows if row.get(column)]


def _figure(groups: Mapping[str, Sequence[Row]], path: Path) -> list[Path]:
    from matplotlib import pyplot

    shown = dict(list(groups.items())[:_MOST_GROUPS])
    panels = [_draw_accuracy]
    if any(_numbers(rows, "positional") for rows in shown.values()):
        panels.append(_draw_scores)
    if any(_numbers(rows, "half_length") for rows in shown.values()):
        panels.append(_draw_lengths)
    with style.style():
        figure, axes = pyplot.subplots(
            1,
            len(panels),
            figsize=(3.6 * len(panels) + 1.2, 1.7 + 0.3 * max(len(shown), 1)),
            sharey=True,
            squeeze=False,
        )
        for draw, ax in zip(panels, axes[0], strict=True):
            draw(ax, list(shown.values()))
        axes[0, 0].set_yticks(range(len(shown)), [_cut(name) for name in shown])
        axes[0, 0].set_ylim(max(len(shown), 1) - 0.5, -0.5)
        keys = [handle for ax in axes[0] for handle in ax.get_legend_handles_labels()[0]]
        figure.legend(handles=keys, loc="outside lower center", ncols=4 * len(panels), fontsize=7, handletextpad=0.1)
        return style.save_figure(figure, path)


def _draw_accuracy(ax: Axes, groups: Sequence[Sequence[Row]]) -> None:
    """Each hop class a colour, each item a mark."""
    hops = sorted({name for rows in groups for row in rows for name in row if name.startswith("accuracy_hop")})
    for number, name in enumerate(hops):
        points = [(value, line) for line, rows in enumerate(groups) for value in _numbers(rows, name)]
        offset = 0.12 * (number - (len(hops) - 1) / 2)
        ax.plot(
            [value for value, _ in points], [line + offset for _, line in points], "o", markersize=4,
            color=style.HOPS[number % len(style.HOPS)], label=f"{number + 1} hop{'s' * (number > 0)}",
        )  # fmt: skip
    ax.set(title="Accuracy", xlim=(-0.03, 1.03))


def _draw_scores(ax: Axes, groups: Sequence[Sequence[Row]]) -> None:
    """The mean over heads, open, and the highest, full."""
    for kind, colour in (("positional", style.POSITIONAL), ("symbolic", style.SYMBOLIC)):
        offset = -0.12 if kind == "positional" else 0.12
        for column, face, label in ((kind, "none", f"{kind}, mean"), (f"{kind}_max", colour, "highest")):
            points = [(value, line) for line, rows in enumerate(groups) for value in _numbers(rows, column)]
            ax.plot(
                [value for value, _ in points], [line + offset for _, line in points], style.MARK[kind],
                color=colour, markerfacecolor=face, markersize=4.5, label=label,
            )  # fmt: skip
    ax.set(title="Scores of the heads", xlim=(-0.03, 1.03))


def _draw_lengths(ax: Axes, groups: Sequence[Sequence[Row]]) -> None:
    """Where accuracy falls below one half; those that never did stand at the right."""
    found = [(value, line) for line, rows in enumerate(groups) for value in _numbers(rows, "half_length")]
    known = [point for point in found if math.isfinite(point[0])]
    ax.plot([value for value, _ in known], [line for _, line in known], "o", color=style.NEUTRAL, markersize=5)
    ax.set_xscale("log")
    right = 1.5 * max((value for value, _ in known), default=1000.0)
    for value, line in found:
        if not math.isfinite(value):
            ax.plot([right], [line], ">", color=style.NEUTRAL, markerfacecolor="none", markersize=6)
    ax.set(title="Length at one half (> never)")


def _cut(text: str, longest: int = 46) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _page(rows: Sequence[Row], heads: Sequence[Row], directory: Path) -> Path:
    data = {
        "name": directory.name,
        "varied": settings_of(rows),
        "groups": {name: [row["item"] for row in of_group] for name, of_group in groups_of(rows).items()},
        "rows": [dict(row) for row in rows],
        "heads": [dict(row) for row in heads],
    }
    page = assemble(
        f"{directory.name}: a sweep",
        assets.read("assets/sweep.html"),
        assets.style(),
        assets.scripts([assets.read("assets/sweep.js")]),
        data,
    )
    path = directory / PAGE
    write_text(path, page)
    return path
