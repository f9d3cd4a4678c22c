"""``whatwhere report``: figures, claims and the page of results on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from whatwhere.cli import console
from whatwhere.cli.parameters import AsJson, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whatwhere.studies.claim import Judged

_STYLES = {"holds": "green", "fails": "red", "depends": "yellow", "open": "yellow"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere report reproduction[/bold], or a single run: "
        "[bold]whatwhere report runs/number[/bold]"
    )(report)


def report(
    directory: Annotated[
        Path, typer.Argument(help="What `whatwhere reproduce` made, a run, or a watched training.", parser=place)
    ],
    as_json: AsJson = False,
) -> None:
    """Draw all figures, judge the claims and write the page from what is on disk; nothing is measured.

    [bold]DIR/figures[/bold] holds PDF, PNG and CSV of each figure, [bold]DIR/claims.*[/bold] the claims,
    [bold]DIR/report.html[/bold] the page.
    """
    from whatwhere.work.reporting import make_report

    with console.Bar() as bar:
        made = make_report(directory, bar.follow("drawing"))
    if as_json:
        console.print_json(
            {
                "page": None if made.page is None else str(made.page),
                "figures": [str(file) for file in made.figures],
                "claims": [one.to_dict() for one in made.judged],
            }
        )
        return
    print_claims(made.judged)
    console.note(f"{len(made.figures)} files in {directory / 'figures'}.")
    if made.page is not None:
        console.note(f"The page: {made.page}")


def print_claims(judged: Sequence[Judged]) -> None:
    """Prints the verdicts by kind of claim, without claims that lack results."""
    if not judged:
        return
    from whatwhere.studies.claim import KINDS
    from whatwhere.studies.judging import counts

    for kind, counted in counts(judged).items():
        table = console.table("verdict", "value", "claim", left=("verdict", "claim"))
        table.columns[-1].no_wrap = False
        for one in judged:
            if one.claim.kind == kind and not one.missing:
                value = "" if one.value != one.value else f"{one.value:.3g} "
                verdict = f"[{_STYLES.get(one.verdict, 'dim')}]{one.verdict}[/] "
                table.add_row(verdict, value, escape(one.claim.title))
        console.out.print()
        console.out.print(f"[bold]{KINDS[kind]}[/]: {counted}")
        if table.row_count:
            console.out.print(table)
    console.remark(
        "value: the number that a claim compares with its threshold. claims.md, claims.csv and the page say how it is "
        "measured, with interval and inputs."
    )
    if absent := sum(one.missing for one in judged):
        many = "1 claim has no results here and is" if absent == 1 else f"{absent} claims have no results here and are"
        console.remark(f"{many} not listed. claims.md says what each needs.")
