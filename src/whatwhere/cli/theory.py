"""``whatwhere theory``: the theorems checked, their tables and figures, and how far a head reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from whatwhere.theory.reach import Reach

HEADS = ("index", "retrieval", "both")
LETTERS, LENGTH = 8, 17


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere theory --out theory[/bold], or for one angle "
        "[bold]whatwhere theory --theta 0.866 --length 64 --beta 40[/bold]"
    )(theory)


def theory(
    theta: Annotated[
        float | None, typer.Option(help="Ask about one RoPE angle (radians per token) instead of checking the paper.")
    ] = None,
    head: Annotated[str | None, typer.Option(help="With --theta: index, retrieval or both (default).")] = None,
    letters: Annotated[
        int | None, typer.Option(help=f"With --theta: letters of the alphabet (default {LETTERS}).")
    ] = None,
    integers: Annotated[int | None, typer.Option(help="With --theta: the largest integer (default: any).")] = None,
    length: Annotated[int | None, typer.Option(help=f"With --theta: tokens of an input (default {LENGTH}).")] = None,
    beta: Annotated[
        float | None, typer.Option(help="With --theta: how long an input does this inverse temperature serve?")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write figures (PDF, PNG, CSV) and theory.json here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Check the paper's theorems: constructions, inverse temperatures, discrepancies and bounds.

    With [bold]--theta[/bold]: how long an input the constructions handle at that angle, and the beta they need.
    """
    if theta is None:
        given = {"--head": head, "--letters": letters, "--integers": integers, "--length": length, "--beta": beta}
        stray = [name for name, value in given.items() if value is not None]
        if stray:
            raise WhatwhereError(
                f"{', '.join(stray)} asks about one angle, and none was given; add --theta, in radians per token."
            )
        _check_paper(out, json)
        return
    head = "both" if head is None else head
    if head not in HEADS:
        raise WhatwhereError(f"--head should be one of {', '.join(HEADS)}, and {head!r} arrived.")
    letters, length = LETTERS if letters is None else letters, LENGTH if length is None else length
    _ask_about_angle(theta, head, letters, integers, length, beta, out, json)


def _check_paper(out: Path | None, json: bool) -> None:
    from whatwhere.cli.console import print_json, progress
    from whatwhere.studies.theorems.figures import draw_theory
    from whatwhere.theory.verification import check_paper

    with progress() as bar:
        task = bar.add_task("", total=None)
        result = check_paper(
            out, lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
        )
        if out:
            bar.update(task, description="drawing")
            draw_theory(out)
    if json:
        print_json(result)
    else:
        _show_checks(result["checks"])
        _show_table(
            "Least inverse temperature (Index beyond 25 tokens: integers to 16)", result["inverse_temperatures"]
        )
        _show_table("Discrepancy of T_Index", result["index_discrepancy"])
        _show_table("Discrepancy of T_Retrieval (below 0: fails)", result["retrieval_discrepancy"])
        _say_where(out)
    if not all(check["passed"] for check in result["checks"]):
        raise typer.Exit(1)


def _ask_about_angle(
    theta: float,
    head: str,
    letters: int,
    integers: int | None,
    length: int,
    beta: float | None,
    out: Path | None,
    json: bool,
) -> None:
    from whatwhere.cli.console import print_json
    from whatwhere.store.storage import write_json
    from whatwhere.studies.theorems.figures import draw_margins
    from whatwhere.theory.curves import write_margins
    from whatwhere.theory.reach import index_reach, retrieval_reach

    reaches: list[Reach] = []
    if head in ("index", "both"):
        reaches.append(index_reach(theta, length, integers=integers, beta=beta))
    if head in ("retrieval", "both"):
        reaches.append(retrieval_reach(theta, length, letters=letters, beta=beta))
    asked = {"letters": letters, "integers": integers, "beta": beta}
    result: dict[str, Any] = {**asked, "reach": [asdict(reach) for reach in reaches]}
    if out:
        write_margins(out, letters)
        draw_margins(out)
        write_json(out / "theory.json", result)
    if json:
        print_json(result)
    else:
        _show_reaches(reaches, letters, beta)
        _say_where(out)


def _show_checks(checks: Sequence[Mapping[str, Any]]) -> None:
    from rich.markup import escape

    from whatwhere.cli.console import out

    for check in checks:
        mark = "[green]pass[/green]" if check["passed"] else "[bold red]FAIL[/bold red]"
        counts = f"{check['inputs']:,} inputs, {check['errors']:,} errors"
        out.print(f"{mark}  {escape(check['claim'])}: {counts}", soft_wrap=True)
        if check["found"]:
            out.print(f"      [dim]{escape(check['found'])}[/dim]", soft_wrap=True)
    failed = sum(not check["passed"] for check in checks)
    tried = sum(check["inputs"] for check in checks)
    out.print(f"\n{len(checks) - failed} of {len(checks)} checks passed, on {tried:,} inputs and lengths.\n")


def _show_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table

    from whatwhere.cli.console import out

    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="left" if name == "head" else "right")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    out.print(table)


def _show_reaches(reaches: Sequence[Reach], letters: int, beta: float | None) -> None:
    from whatwhere.cli.console import out
    from whatwhere.theory.reach import HORIZON

    def tokens(count: int) -> str:
        if count < 2:
            return "none of 2 tokens or more"
        return f"{count:,} tokens or more" if count >= HORIZON else f"{count:,} tokens"

    for reach in reaches:
        name = "T_Index" if reach.head == "index" else f"T_Retrieval ({letters} letters)"
        out.print(f"[bold]{name}[/bold] at angle {reach.theta:g}")
        out.print(f"  smallest discrepancy at {reach.length} tokens: {_cell(reach.margin)}")
        if reach.needed_beta is None:
            out.print("  beta needed there: none serves (on some inputs a wrong token has the larger logit)")
        else:
            out.print(
                f"  beta needed there: above {_cell(reach.needed_beta)} "
                f"(above {_cell(reach.sufficient_beta)} by the lemma's estimate)"
            )
        out.print(f"  longest input, any beta: {tokens(reach.longest)}")
        if beta is not None and reach.longest_at_beta is not None:
            out.print(f"  longest input at beta {beta:g}: {tokens(reach.longest_at_beta)}")


def _say_where(directory: Path | None) -> None:
    from whatwhere.cli.console import note

    if directory:
        note(f"Figures, their data and theory.json are in {directory}.")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
