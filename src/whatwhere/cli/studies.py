"""One generic command for every study: its options are the study's settings, its output the study's summary.

Before a study that costs more than time, the command tells what it will take, and asks if it may cost money.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console
from whatwhere.cli.parameters import argument_of, keyword, options_of, place, record_of, with_parameters
from whatwhere.errors import WhatwhereError
from whatwhere.studies.study import Cost, Study, resolve

if TYPE_CHECKING:
    from whatwhere.studies.results import Results


def command_of(study: Study) -> Callable[..., None]:
    """A function that typer turns into the command of a study."""

    def command(**given: Any) -> None:
        source, compare = given.get("source"), given.get("compare") or []
        settings = study.with_settings(**record_of(study.settings_type(), given))
        if not goes_ahead(study, settings, given):
            return
        results = {}
        for number, each in enumerate((source, *compare)):
            step, out = (given.get("step"), given["out"]) if number == 0 else (None, None)
            found = _measure(study, each, step, settings, out, given["force"])
            results[found.name] = found
        _show(study, results, given["as_json"])
        if study.passes is not None and not all(map(resolve(study.passes), results.values())):
            raise typer.Exit(1)

    options = options_of(study.settings_type(), leave_out=[study.second])
    parameters = [*_subject_parameters(study), *options, *_common_parameters(study)]
    help_text = (
        f"{study.question} ({study.paper})\n\n"
        f"Tables{', figures and a page (report.html)' if study.page else ' and figures'} go to "
        f"[bold]OUT/{study.name}[/bold]; an interrupted command goes on."
    )
    with_parameters(command, study.name, parameters, help_text)
    return command


def _subject_parameters(study: Study) -> list[inspect.Parameter]:
    subject = study.subject
    if subject.argument is None:
        return []
    argument = typer.Argument(help=subject.help, metavar=subject.argument.upper())
    step = typer.Option(help="Which checkpoint of a run.", show_default="the last")
    second = [argument_of(study.settings_type(), study.second)] if study.second else []
    return [
        keyword("source", Annotated[str, argument], ... if study.source is None else study.source),
        *second,
        *([keyword("step", Annotated[int | None, step], None)] if subject.steps else []),
    ]


def _common_parameters(study: Study) -> list[inspect.Parameter]:
    compare = typer.Option(help="Another model for the same figure; may be given several times.")
    where = "the run itself, or analysis-NAME" if study.subject.argument else "the working directory"
    out = typer.Option(help="Where results go.", show_default=where, parser=place)
    force = typer.Option("--force", help="Measure anew; results that are there are removed first.")
    common = [
        keyword("out", Annotated[Path | None, out], None),
        keyword("force", Annotated[bool, force], False),
        keyword("as_json", Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")], False),
        *spending_parameters(study),
    ]
    several = any(figure.shows == "models" for figure in study.figures)
    return [*([keyword("compare", Annotated[list[str] | None, compare], None)] if several else []), *common]


def _measure(study: Study, source: Any, step: int | None, settings: Any, out: Path | None, force: bool) -> Results:
    from whatwhere import __version__
    from whatwhere.store.addresses import local, shown
    from whatwhere.store.manifest import Manifest
    from whatwhere.studies.measuring import measure

    opened = study.subject.open(None if source is None else local(source, console.note), step)
    kept = out is not None or getattr(settings, "kept", lambda: True)()
    directory = (opened.home if out is None else out) / study.name if kept else None
    manifest = None if directory is None else Manifest(directory)
    if force and manifest is not None and manifest.exists:
        tables = ", ".join(sorted(manifest.record.files))
        console.note(f"Measuring anew; this replaces {tables or 'unfinished results'} in {shown(manifest.directory)}.")
    with console.Bar() as bar:
        task = bar.add_task(study.name, total=None)
        try:
            results = measure(
                study, opened, settings, directory, existing="discard" if force else "keep",
                progress=lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
            )  # fmt: skip
        except KeyboardInterrupt:
            bar.stop()
            if directory is not None:
                again = " without --force" if force else ""
                console.note(f"Stopped. What was measured is in {directory}; the same command{again} goes on.")
            raise typer.Exit(console.INTERRUPTED) from None
    if results.manifest is not None and (by := results.manifest.record.whatwhere) != __version__:
        console.note(f"whatwhere {by} made these results, and this is {__version__}. Measure anew with --force.")
    return results


def _show(study: Study, results: Mapping[str, Results], as_json: bool) -> None:
    """Draws the figures and writes the page, then prints the tables as JSON or the summary."""
    from whatwhere.page import write_page
    from whatwhere.store.addresses import shown
    from whatwhere.studies.measuring import FIGURES, draw

    first = next(iter(results.values()))
    files: list[Path] = []
    pages: list[Path] = []
    if first.manifest is not None:
        with console.err.status("drawing"):
            files = [file for one in results.values() for file in draw({one.name: one}, one.directory / FIGURES)]
            files += draw(results, first.directory / FIGURES, kind="models")
            pages = [write_page(one.directory) for one in results.values()] if study.page is not None else []
    if as_json:
        console.print_json({name: _content(one) for name, one in results.items()})
        return
    for one in results.values():
        for block in resolve(study.summary)(one):
            console.out.print(block)
    if first.manifest is not None:
        drawn = f"; {len(files)} files of figures in {shown(first.directory / FIGURES)}" if files else ""
        console.note(f"Tables: {shown(first.directory)}{drawn}")
        for page in pages:
            console.note(f"The page: {shown(page)}")


def _content(results: Results) -> dict[str, Any]:
    from whatwhere.store.addresses import shown
    from whatwhere.store.documents import plain

    tables = {
        name: frame.astype(object).where(frame.notna(), None).to_dict("records") for name, frame in results.items()
    }
    directory = None if results.manifest is None else shown(results.directory)
    return {"directory": directory, "settings": plain(results.settings), "tables": tables}


def spending_parameters(study: Study) -> list[inspect.Parameter]:
    """The options of a study that has a cost."""
    if study.cost is None:
        return []
    dry_run = typer.Option("--dry-run", help="Only tell what it will take.")
    yes = typer.Option("--yes", "-y", help="Do not ask for confirmation before calls that may cost money.")
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
