"""What a person reads of the theorems in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from whatwhere.studies.results import Results
from whatwhere.studies.theorems.tables import CheckRow, Discrepancy, LayerMargin, ReachRow, Temperature
from whatwhere.theory.arguments import LONGEST
from whatwhere.theory.robustness import FIGURE_LENGTH

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN_LENGTHS = (5, 10, 17, 32, 50, 100, 146, 850)
SERVES = 1e-3
"""Margins above this are counted in the sentence about frequencies."""


def summary(results: Results) -> Sequence[RenderableType]:
    """The checks and the tables; for one angle, what both heads can do there."""
    reaches = results.rows("reach", ReachRow)
    if results.settings.theta is not None:
        return [line for reach in reaches for line in _reach(reach, results.settings.letters, results.settings.beta)]
    return [
        *_checks(results.rows("checks", CheckRow)),
        _temperatures(results.rows("temperatures", Temperature)),
        *(_discrepancies(head, results.rows("discrepancy", Discrepancy)) for head in ("index", "retrieval")),
        _layers(results.rows("layers", LayerMargin)),
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
        lines.append(f"{mark}  {escape(check.claim)}: {check.inputs:,} inputs, {check.errors:,} errors")
        if check.found:
            lines.append(f"      [dim]{escape(check.found)}[/dim]")
    return [*lines, ""]


def _temperatures(rows: Sequence[Temperature]) -> Table:
    columns = {"head": "head", "inputs": "inputs", "angle": "theta", "tokens": "n", "least": "least"}
    title = "Least inverse temperature, Index with integers to 16 (- : none serves)"
    return _table(title, rows, {**columns, "lemma's estimate": "sufficient"})


def _discrepancies(head: str, rows: Sequence[Discrepancy]) -> Table:
    columns = {"angle": "theta", "tokens": "n", "smallest": "smallest", "corrected bound": "corrected_bound"}
    title = f"Discrepancy of {_name(head)} over inputs" + " (below 0: a wrong token wins)" * (head == "retrieval")
    shown = [row for row in rows if row.head == head and row.n in SHOWN_LENGTHS]
    return _table(title, shown, {**columns, "printed bound": "printed_bound", "largest": "largest"})


def _layers(rows: Sequence[LayerMargin]) -> Table:
    title = f"Retrieval at {FIGURE_LENGTH} tokens with the paper's frequency of each letter layer (E29)"
    columns = {"layer": "layer", "frequency ID": "frequency_id", "angle": "theta", "smallest discrepancy": "smallest"}
    return _table(title, [row for row in rows if row.n == FIGURE_LENGTH], columns)


def _frequencies(rows: Sequence[ReachRow], letters: int) -> str:
    """Which of the paper's frequencies serve which head."""
    serving = {
        head: [row.frequency_id for row in rows if row.head == head and row.margin > SERVES and row.frequency_id]
        for head in ("index", "retrieval")
    }
    return (
        f"\nAt {rows[0].length} tokens a margin above {SERVES:g} is left by frequency IDs {_ranges(serving['index'])} "
        f"to T_Index, and by IDs {_ranges(serving['retrieval'])} to T_Retrieval over {letters} letters."
    )


def _reach(reach: ReachRow, letters: int, beta: float | None) -> list[str]:
    name = _name(reach.head) + f" over {letters} letters" * (reach.head == "retrieval")
    lines = [
        f"[bold]{name}[/bold] at angle {reach.theta:g}",
        f"  smallest discrepancy at {reach.length} tokens: {_cell(reach.margin)}",
    ]
    if reach.needed_beta == reach.needed_beta:
        lines.append(
            f"  inverse temperature needed there: above {_cell(reach.needed_beta)} "
            f"(the lemma's estimate: {_cell(reach.sufficient_beta)})"
        )
    else:
        lines.append("  inverse temperature needed there: none serves, a wrong token has the larger logit or ties")
    lines.append(f"  longest input at any inverse temperature: {_tokens(reach.longest)}")
    if reach.longest_at_beta is not None:
        lines.append(f"  longest input at inverse temperature {beta:g}: {_tokens(reach.longest_at_beta)}")
    return lines


def _name(head: str) -> str:
    return {"index": "T_Index", "retrieval": "T_Retrieval"}[head]


def _tokens(count: int) -> str:
    if count < 2:
        return "none of 2 tokens or more"
    return f"{count:,} tokens" + " or more" * (count >= LONGEST)


def _cell(value: float | str) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return str(value)


def _ranges(ids: Sequence[int]) -> str:
    """``1-6, 8-22``; ``none`` for nothing."""
    starts = [id for id in ids if id - 1 not in ids]
    ends = [id for id in ids if id + 1 not in ids]
    found = [f"{a}-{b}" if a < b else f"{a}" for a, b in zip(starts, ends, strict=True)]
    return ", ".join(found) or "none"


def _table(title: str, rows: Sequence[object], columns: Mapping[str, str]) -> Table:
    """A table of rows; ``columns`` gives the field behind each heading."""
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="left" if name in ("head", "inputs") else "right")
    for row in rows:
        table.add_row(*(_cell(getattr(row, field)) for field in columns.values()))
    return table
