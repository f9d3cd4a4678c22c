"""``whatwhere report``: figures, claims and the page of a reproduction, made anew from disk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from whatwhere.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whatwhere.studies.claims_face import Judged

_STYLES = {"holds": "green", "fails": "red", "not tested": "dim"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere report reproduction[/bold], or a single run: "
        "[bold]whatwhere report runs/number[/bold]"
    )(report)


def report(
    directory: Annotated[
        Path, typer.Argument(help="What `whatwhere reproduce` made, a run that was scored, or a watched training.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Redraw all of it from what is on disk: figures, claims and the page; nothing is computed anew.

    [bold]DIR/figures[/bold] holds PDF and PNG of each figure and index.csv, which says where the data of each lies;
    [bold]DIR/claims.*[/bold] the claims, [bold]DIR/report.html[/bold] the page.
    """
    from whatwhere.page import write_page
    from whatwhere.studies.claims_face import judge, write_claims
    from whatwhere.studies.watched.tables import is_watched
    from whatwhere.work.reproduction import FOLDER, draw_everything, is_reproduction

    with console.progress() as bar:
        shown = bar.add_task("drawing", total=None)
        gallery = draw_everything(
            directory, lambda what, done, total: bar.update(shown, description=what, completed=done, total=total)
        )
    judged: list[Judged] = []
    if is_reproduction(directory):  # the claims compare two models; a single run has none of its own
        judged = judge(directory)
        write_claims(directory, judged)
    page = None if is_watched(directory) else write_page(directory)
    if as_json:
        console.print_json(
            {
                "page": None if page is None else str(page),
                "figures": [str(file) for file in gallery.figures],
                "missing": gallery.missing,
                "claims": [claim.to_dict() for claim in judged],
            }
        )
        return
    for name in dict.fromkeys(file.stem for file in gallery.figures):
        console.out.print(f"{directory / FOLDER / name}.pdf, .png", markup=False, soft_wrap=True)
    print_claims(judged)
    for missing in gallery.missing:
        console.note(f"not there yet, {missing}")
    if page is not None:
        console.note(f"The page: {page}")


def print_claims(judged: Sequence[Judged]) -> None:
    """The verdicts, a line each."""
    if not judged:
        return
    table = console.table("verdict", "value", "claim", left=("verdict", "claim"))
    table.columns[-1].no_wrap = False
    for one in judged:
        value = "" if one.value != one.value else f"{one.value:.3g} "
        table.add_row(f"[{_STYLES[one.verdict]}]{one.verdict}[/] ", value, escape(one.claim.title))
    console.out.print()
    console.out.print(table)
    counts = Counter(one.verdict for one in judged)
    console.remark(
        f"{counts['holds']} hold, {counts['fails']} fail, {counts['not tested']} were not tested. Why, how each is "
        "measured, with its threshold, interval and inputs: claims.md, claims.csv, or the page."
    )
