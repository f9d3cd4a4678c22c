"""Before a study that costs more than time: what it will take, and a question if it may cost money."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from whatwhere.cli import console
from whatwhere.cli.parameters import keyword
from whatwhere.errors import WhatwhereError
from whatwhere.studies.study import Cost, Study, resolve


def spending_parameters(study: Study) -> list[inspect.Parameter]:
    """The options of a study that has a cost."""
    if study.cost is None:
        return []
    dry_run = typer.Option("--dry-run", help="Only tell what it will take.")
    yes = typer.Option("--yes", "-y", help="Do not ask before it costs money.")
    return [keyword("dry_run", Annotated[bool, dry_run], False), keyword("yes", Annotated[bool, yes], False)]


def goes_ahead(study: Study, settings: Any, given: Mapping[str, Any]) -> bool:
    """Tells what a study will take, and asks if it may cost money.

    Raises:
        WhatwhereError: it may cost money, and there is no terminal to ask on.
    """
    from whatwhere.studies.results import Results

    if study.cost is None:
        return True
    costs: dict[str, Cost] = {}
    for number, source in enumerate((given.get("source"), *(given.get("compare") or ()))):
        opened = study.subject.open(source, given.get("step"))
        place = given["out"] if number == 0 and given["out"] is not None else opened.home
        results = Results(study, settings, opened.name, place / study.name)
        costs[opened.name] = resolve(study.cost)(opened.item, settings, results)
    for cost in costs.values():
        console.note(cost.text)
    if given["dry_run"]:
        if given["as_json"]:
            console.print_json({name: dict(cost.numbers) for name, cost in costs.items()})
        return False
    if given["yes"] or not any(cost.paid for cost in costs.values()):
        return True
    if not _terminal():
        raise WhatwhereError(
            "expected --yes for calls that may cost money, got none, and there is no terminal to ask on; "
            "--dry-run shows what they will take."
        )
    return typer.confirm("This may cost money. Go ahead?", err=True)


def _terminal() -> bool:
    return sys.stdin.isatty()
