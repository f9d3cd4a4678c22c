"""The figure and the page of a sweep, from ``sweep.csv`` only.

Items that differ only in their seed share a line, with a mark for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import pyplot

from whatwhere.store.files import write_text
from whatwhere.studies.style import HOPS, NEUTRAL, save_figure, style

FIGURE, PAGE = "figures/sweep", "sweep.html"
_FIXED = ("item", "status", "problem", "seed", "steps", "seconds")
_MOST_GROUPS, _MOST_PANELS = 60, 6
"""Lines and panels of the figure; the page has all."""


def draw_sweep(table: pd.DataFrame, directory: Path) -> list[Path]:
    """Draws ``DIR/figures/sweep.pdf`` and ``.png`` and writes ``DIR/sweep.html``."""
    from whatwhere.page import build

    grouped = with_groups(table)
    data = {
        "heading": directory.name,
        "rows": grouped.to_dict("records"),
        "varied": varied_columns(table),
        "outcomes": outcome_columns(table),
    }
    page = directory / PAGE
    write_text(page, build(f"{directory.name}: a sweep", ["sweep"], data))
    return [*_figure(grouped.query("status == 'done'"), directory / FIGURE), page]


def varied_columns(table: pd.DataFrame) -> list[str]:
    """The settings with more than one value, except the seed."""
    settings = [name for name in map(str, table) if name not in _FIXED and not _is_outcome(table, name)]
    return [name for name in settings if len(table[name].drop_duplicates()) > 1]


def outcome_columns(table: pd.DataFrame) -> list[str]:
    """Accuracy and what the studies measured."""
    return [str(name) for name in table if _is_outcome(table, str(name))]


def _is_outcome(table: pd.DataFrame, name: str) -> bool:
    from whatwhere.studies import STUDIES

    measured = name.startswith(("accuracy", *(f"{study}_" for study in STUDIES)))
    return measured and table[name].dtype.kind in "fiu"


def with_groups(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column ``group``, the name of the settings that vary, without the seed."""
    varied = varied_columns(table)

    def name(row: Mapping[str, Any]) -> str:
        given = [key for key in varied if row[key] == row[key]]
        words = [str(row[key]) if key in ("task", "model") else f"{key} {row[key]}" for key in given]
        return ", ".join(words) or str(row.get("task", row["item"]))

    return table.assign(group=[name(row) for row in table.to_dict("records")])  # pyright: ignore[reportArgumentType]


def _figure(table: pd.DataFrame, path: Path) -> list[Path]:
    groups = list(dict.fromkeys(table["group"]))[:_MOST_GROUPS]
    hops = [name for name in outcome_columns(table) if name.startswith("accuracy_hop")]
    others = [name for name in outcome_columns(table) if not name.startswith("accuracy")][: _MOST_PANELS - 1]
    with style():
        figure, axes = pyplot.subplots(
            1, 1 + len(others), figsize=(3.2 * (1 + len(others)) + 1.2, 1.7 + 0.3 * max(len(groups), 1)),
            sharey=True, squeeze=False,
        )  # fmt: skip
        for number, (ax, column) in enumerate(zip(axes[0], ["accuracy", *others], strict=True)):
            for at, name in enumerate(hops if number == 0 else [column]):
                shift = 0.12 * (at - (len(hops) - 1) / 2) if number == 0 else 0.0
                points = [(value, line + shift) for line, group in enumerate(groups)
                          for value in table.loc[table["group"] == group, name].dropna()]  # fmt: skip
                colour = HOPS[at % len(HOPS)] if number == 0 else NEUTRAL
                label = f"{at + 1} hop{'s' * (at > 0)}" if number == 0 else None
                ax.plot([x for x, _ in points], [y for _, y in points], "o", markersize=4, color=colour, label=label)
            ax.set_title(column.replace("_", " "))
        axes[0, 0].set_yticks(range(len(groups)), [f"{name[:45]}…" if len(name) > 46 else name for name in groups])
        axes[0, 0].set_ylim(max(len(groups), 1) - 0.5, -0.5)
        if hops:
            figure.legend(loc="outside lower center", ncols=4, fontsize=7, handletextpad=0.1)
        return save_figure(figure, path)
