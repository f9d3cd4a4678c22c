"""Writes ``docs/verdicts.md``: ``python tools/verdict_table.py PAPER SHORT > docs/verdicts.md``.

PAPER and SHORT are reproductions with preset ``paper`` (with its control) and ``short``; their ``claims.csv`` and the
seeds of ``claims.json`` are read.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

from whatwhere.store.documents import read_json
from whatwhere.studies.claim import KINDS, listed
from whatwhere.studies.judging import escaped

HEAD = """# The verdicts

Every claim that these reproductions can judge: by the authors' recipe (preset `paper`, seeds {paper}), by the same
recipe with a letter model on leak-free data, and by the short recipe (preset `short`, seeds {short}). In brackets the
value with each seed. An empty cell: the claim was added after that reproduction. [The claims](claims.md) have the
words, the measures and the thresholds; [the results](results.md) tell what they mean.

This page is generated: `python tools/verdict_table.py PAPER SHORT > docs/verdicts.md`.
"""


Row = dict[str, str]


def verdict_table(paper: Path, short: Path) -> str:
    """The page, from two reproductions."""
    by_paper, by_short = _rows(paper), _rows(short)
    page = HEAD.format(paper=_seeds_of(paper), short=_seeds_of(short))
    for kind, title in KINDS.items():
        rows = {name: row for name, row in by_paper.items() if row["kind"] == kind}
        asked = {name: row for name, row in rows.items() if kind == "trained" or row["verdict"] != "not tested"}
        if not asked:
            continue
        page += f"\n## {title}\n\n{_counted('paper', rows)}\n"
        page += _counted("short", {name: by_short[name] for name in rows if name in by_short}) + "\n\n"
        page += "| claim | asked for | `paper` | on leak-free data | `short` |\n|---|---|---|---|---|\n"
        for claim, row in asked.items():
            control = f"{row['control']} ({_values(row['control_seeds'])})" if row["control"] else ""
            cells = (escaped(row["title"]), row["threshold"], _found(row), control, _found(by_short.get(claim)))
            page += f"| {' | '.join(cells)} |\n"
    return page


def _seeds_of(directory: Path) -> str:
    models = read_json(directory / "claims.json", "the claims")["models"]
    return listed(sorted({model["seed"] for model in models}))


def _rows(directory: Path) -> dict[str, Row]:
    with (directory / "claims.csv").open(newline="") as lines:
        return {row["id"]: row for row in csv.DictReader(lines)}


def _counted(preset: str, rows: dict[str, Row]) -> str:
    counts = Counter(row["verdict"] for row in rows.values()).most_common()
    return f"- Preset `{preset}`: {', '.join(f'{count} {verdict}' for verdict, count in counts)}."


def _found(row: Row | None) -> str:
    """``depends on data (1.04, 1.06)``."""
    if row is None:
        return ""
    on = f" on {', '.join(row['depends_on'].split())}" if row["depends_on"] else ""
    return f"{row['verdict']}{on}" + (f" ({_values(row['seeds'])})" if row["seeds"] else "")


def _values(seeds: str) -> str:
    return ", ".join(f"{float(value):.3g}" for value in seeds.split())


if __name__ == "__main__":
    print(verdict_table(*map(Path, sys.argv[1:3])), end="")
