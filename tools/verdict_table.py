"""Writes ``docs/verdicts.md``: ``python tools/verdict_table.py PAPER SHORT > docs/verdicts.md``.

PAPER and SHORT are reproductions with preset ``paper`` (with its control) and ``short``; their ``claims.csv`` is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from whatwhere.studies.claim import KINDS
from whatwhere.studies.judging import escaped

HEAD = """# The verdicts

Every claim about trained models: by the authors' recipe (preset `paper`), by the same recipe with a letter model on
leak-free data, and by the short recipe (preset `short`). In brackets the value with each seed.
[The claims](claims.md) have the words, the measures and the thresholds; [the results](results.md) tell what they mean.

This page is generated: `python tools/verdict_table.py PAPER SHORT > docs/verdicts.md`.
"""


def verdict_table(paper: Path, short: Path) -> str:
    """The page, from two reproductions."""
    tables = [pd.read_csv(each / "claims.csv", keep_default_na=False).set_index("id") for each in (paper, short)]
    shown = tables[0].loc[tables[0]["kind"] == "trained", :]
    page = f"{HEAD}\n{_counted('paper', shown)}\n"
    page += f"{_counted('short', tables[1].loc[tables[1]['kind'] == 'trained', :])}\n\n"
    page += "| claim | asked for | `paper` | on leak-free data | `short` |\n|---|---|---|---|---|\n"
    for claim, row in shown.iterrows():
        control = f"{row['control']} ({float(row['control_value']):.3g})" if row["control"] else ""
        cells = (_found(row), control, _found(tables[1].loc[claim]))
        page += f"| {escaped(row['title'])} | {row['threshold']} | {' | '.join(cells)} |\n"
    return page


def _counted(preset: str, rows: pd.DataFrame) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in rows["verdict"].value_counts().items())
    return f"- {KINDS['trained']}, preset `{preset}`: {counts}."


def _found(row: pd.Series) -> str:
    """``depends on seed (1.04, 1.06)``."""
    on = f" on {', '.join(row['depends_on'].split())}" if row["depends_on"] else ""
    values = ", ".join(f"{float(value):.3g}" for value in row["seeds"].split())
    return f"{row['verdict']}{on}" + (f" ({values})" if values else "")


if __name__ == "__main__":
    print(verdict_table(*map(Path, sys.argv[1:3])), end="")
