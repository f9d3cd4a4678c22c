"""The terminal summary of the study ``theorems``."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.results import Results
from whatwhere.studies.terminal import number_runs, remark, table
from whatwhere.studies.theorems.tables import CheckRow, Discrepancy, Temperature
from whatwhere.theory.arguments import LONGEST
from whatwhere.theory.reach import Reach

SHOWN_LENGTHS = (5, 10, 17, 32, 50, 100, 850)
MAIN_INPUTS = ("in range", "pointing queries")
"""Of each head the inputs that are shown; others are measured at 17 tokens only."""
SERVES = 1e-3
"""Margins above this are counted in the sentence about frequencies."""


def summary(results: Results) -> Sequence[RenderableType]:
    """The checks and the tables; for one angle, what both heads can do there."""
    reaches = results.rows("reach", Reach)
    if results.settings.theta is not None:
        return [line for reach in reaches for line in _reach(reach, results.settings.letters, results.settings.beta)]
    temperatures = results.rows("temperatures", Temperature)
    margins = [row for row in results.rows("discrepancy", Discrepancy) if row.n in SHOWN_LENGTHS]
    main = [row for row in temperatures if row.inputs in MAIN_INPUTS]
    return [
        *_checks(results.rows("checks", CheckRow)),
        _by_length("Least inverse temperature by length in tokens (-: none serves)", main, "least"),
        remark("Index: integers in range; Retrieval: queries that point. The table temperatures has other inputs."),
        _by_length("\nSmallest discrepancy by length in tokens (below 0: a wrong token wins)", margins, "smallest"),
        _frequencies(reaches, results.settings.letters),
    ]


def _checks(checks: Sequence[CheckRow]) -> list[RenderableType]:
    passed, tried = sum(check.passed for check in checks), sum(check.inputs for check in checks)
    lines: list[RenderableType] = [
        f"Theorems 1 and 2 on hand-built heads: {passed} of {len(checks)} checks passed, "
        f"on {tried:,} inputs and lengths.\n"
    ]
    for check in checks:
        mark = "[green]pass[/green]" if check.passed else "[bold red]FAIL[/bold red]"
        cases = f"{check.inputs:,} cases" if check.passed else f"{check.errors:,} of {check.inputs:,} cases fail"
        lines.append(f"{mark}  {escape(check.claim)} ({cases})")
        if check.found and not check.passed:
            lines.append(f"      {escape(check.found)}")
    return [*lines, remark("What each of them found: the table checks."), ""]


def _by_length(title: str, rows: Sequence[Temperature] | Sequence[Discrepancy], value: str) -> Table:
    """A line for each head and angle, a column for each length."""
    lengths = sorted({row.n for row in rows})
    made = table("head", "angle", *map(str, lengths), left=("head",), title=title)
    lines: dict[tuple[str, str], dict[int, str]] = {}
    for row in rows:
        lines.setdefault((row.head, f"{row.theta:g}"), {})[row.n] = _cell(getattr(row, value))
    for key, cells in lines.items():
        made.add_row(*key, *(cells.get(n, "") for n in lengths))
    return made


def _frequencies(rows: Sequence[Reach], letters: int) -> str:
    """Which of the paper's frequencies serve which head."""
    index, retrieval = (
        number_runs(row.frequency_id for row in rows if row.head == head and row.margin > SERVES and row.frequency_id)
        for head in ("index", "retrieval")
    )
    return (
        f"\nAt {rows[0].length} tokens frequency IDs {index} leave T_Index a margin above {SERVES:g}, and IDs "
        f"{retrieval} leave one to T_Retrieval over {letters} letters."
    )


def _reach(reach: Reach, letters: int, beta: float | None) -> list[str]:
    name = "T_Index" if reach.head == "index" else f"T_Retrieval over {letters} letters"
    lines = [
        f"[bold]{name}[/bold] at angle {reach.theta:g}",
        f"  smallest discrepancy at {reach.length} tokens: {_cell(reach.margin)}",
    ]
    needed = "none serves, a wrong token has the larger logit or ties"
    if not math.isnan(reach.needed_beta):
        needed = f"above {_cell(reach.needed_beta)} (the lemma's estimate: {_cell(reach.sufficient_beta)})"
    lines.append(f"  inverse temperature needed there: {needed}")
    lines.append(f"  longest input at any inverse temperature: {_tokens(reach.longest)}")
    if reach.longest_at_beta is not None:
        lines.append(f"  longest input at inverse temperature {beta:g}: {_tokens(reach.longest_at_beta)}")
    return lines


def _tokens(count: int) -> str:
    if count < 2:
        return "none of 2 tokens or more"
    return f"{count:,} tokens" + " or more" * (count >= LONGEST)


def _cell(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
