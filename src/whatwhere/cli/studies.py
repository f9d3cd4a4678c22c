"""One generic command for every study: its options are the study's settings, its output the study's summary.

Before an expensive study, the command prints the estimated cost, and asks for confirmation if it may cost money.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console
from whatwhere.cli.parameters import argument_of, keyword, option, options_of, place, record_of, with_parameters
from whatwhere.errors import WhatwhereError
from whatwhere.store.addresses import local, shown
from whatwhere.studies.study import Cost, Study, resolve

if TYPE_CHECKING:
    from whatwhere.studies.results import Results
    from whatwhere.studies.subject import Opened


def command_of(study: Study) -> Callable[..., None]:
    """A function that typer turns into the command of a study."""

    def command(**given: Any) -> None:
        settings = study.with_settings(**record_of(study.settings_type(), given))
        if not confirm_cost(study, settings, given):
            return
        measured = (_measure(study, *asked, settings, given["force"]) for asked in _asked(study, settings, given))
        results = {one.name: one for one in measured}
        _show(study, results, given["as_json"])
        if study.passes is not None and not all(map(resolve(study.passes), results.values())):
            raise typer.Exit(1)

    options = options_of(study.settings_type(), leave_out=[study.second])
    parameters = [*_subject_parameters(study), *options, *_common_parameters(study)]
    help_text = (
        f"{study.question} ({study.paper})\n\n"
        f"Tables{', figures and a page (report.html)' if study.page else ' and figures'} go to "
        f"[bold]OUT/{study.name}[/bold]; an interrupted command continues."
    )
    with_parameters(command, study.name, parameters, help_text)
    return command


def _subject_parameters(study: Study) -> list[inspect.Parameter]:
    subject = study.subject
    if subject.argument is None:
        return []
    argument = typer.Argument(help=subject.help, metavar=subject.argument.upper())
    found = [keyword("source", Annotated[str, argument], ... if study.source is None else study.source)]
    if study.second:
        found.append(argument_of(study.settings_type(), study.second))
    if subject.steps:
        found.append(
            option("step", int | None, None, help="The step of a checkpoint of a run.", show_default="the last")
        )
    return found


def _common_parameters(study: Study) -> list[inspect.Parameter]:
    several = any(figure.shows == "models" for figure in study.figures)
    apart = "; with --compare, a folder for each model there" if several else ""
    many = "Another model for the same figure; may be given several times."
    found = [option("compare", list[str] | None, None, help=many)] if several else []
    found += [
        option(
            "out", Path | None, None, help=f"Where results go{apart}.", show_default=study.subject.home, parser=place
        ),
        option("force", bool, False, "--force", help="Measure again; this replaces results that are there."),
        option("as_json", bool, False, "--json", help="Print the tables as JSON."),
    ]
    if study.cost is not None:
        ask = "Do not ask for confirmation before calls that may cost money."
        found += [
            option("dry_run", bool, False, "--dry-run", help="Only tell what it will take."),
            option("yes", bool, False, "--yes", "-y", help=ask),
        ]
    return found


def _asked(study: Study, settings: Any, given: Mapping[str, Any]) -> Iterator[tuple[Opened, Path | None]]:
    """The subjects of the study, each with the directory of its results; None to keep no results."""
    out, compare = given["out"], given.get("compare") or []
    taken: dict[Path, str] = {}
    for number, source in enumerate((given.get("source"), *compare)):
        step = given.get("step") if number == 0 else None
        opened = study.subject.open(None if source is None else local(source, console.note), step)
        if out is None and not getattr(settings, "kept", lambda: True)():
            yield opened, None
            continue
        home = opened.home if out is None else out / opened.label if compare else out
        if (other := taken.setdefault(home, opened.name)) != opened.name:
            raise WhatwhereError(
                f"expected models with a folder each, got {other} and {opened.name}, whose results would both go to "
                f"{home}; measure one of them by itself, with an --out of its own."
            )
        yield opened, home / study.name


def _measure(study: Study, opened: Opened, directory: Path | None, settings: Any, force: bool) -> Results:
    from whatwhere import __version__
    from whatwhere.store.manifest import Manifest
    from whatwhere.studies.measuring import measure

    manifest = None if directory is None else Manifest(directory)
    if force and manifest is not None and manifest.exists:
        tables = ", ".join(sorted(manifest.record.files))
        console.note(f"Measuring again; this replaces {tables or 'unfinished results'} in {shown(manifest.directory)}.")
    try:
        with console.Bar() as bar:
            results = measure(
                study, opened, settings, directory, existing="discard" if force else "keep",
                progress=bar.follow(study.name), advice="replace them with --force, or choose another --out",
            )  # fmt: skip
    except KeyboardInterrupt:
        if directory is not None:
            again = " without --force" if force else ""
            console.note(f"Stopped. What was measured is in {directory}; the same command{again} continues.")
        raise typer.Exit(console.INTERRUPTED) from None
    if results.manifest is not None and (by := results.manifest.record.whatwhere) != __version__:
        console.note(f"whatwhere {by} made these results, and this is {__version__}. Measure again with --force.")
    elif results.kept:
        console.note(f"{shown(results.directory)} is up to date: measured before; --force measures again.")
    return results


def _show(study: Study, results: Mapping[str, Results], as_json: bool) -> None:
    """Draws the figures and writes the page, then prints the tables as JSON or the summary."""
    from whatwhere.page import write_page
    from whatwhere.studies.measuring import FIGURES, draw

    first = next(iter(results.values()))
    drawn: dict[str, list[Path]] = {}
    pages: list[Path] = []
    if first.manifest is not None:
        with console.err.status("drawing"):
            drawn = {name: draw({name: one}, one.directory / FIGURES) for name, one in results.items()}
            drawn[first.name] += draw(results, first.directory / FIGURES, kind="models")
            pages = [write_page(one.directory) for one in results.values()] if study.page is not None else []
    if as_json:
        console.print_json({name: _content(one) for name, one in results.items()})
        return
    for one in results.values():
        for block in one.blocks():
            console.out.print(block)
    if first.manifest is None:
        console.note("Nothing was kept; --out DIR keeps the tables.")
    for name, files in drawn.items():
        where = results[name].directory
        figures = f"; {len(files)} files of figures in {shown(where / FIGURES)}" if files else ""
        console.note(f"Tables: {shown(where)}{figures}")
    for page in pages:
        console.note(f"The page: {shown(page)}")


def _content(results: Results) -> dict[str, Any]:
    tables = {name: frame.to_dict("records") for name, frame in results.items()}
    directory = None if results.manifest is None else shown(results.directory)
    return {"directory": directory, "settings": results.settings, "tables": tables}


def confirm_cost(study: Study, settings: Any, given: Mapping[str, Any]) -> bool:
    """Prints the estimated cost of a study, and asks for confirmation if it may cost money."""
    from whatwhere.studies.results import Results

    if study.cost is None:
        return True
    costs: dict[str, Cost] = {}
    for opened, directory in _asked(study, settings, given):
        results = Results(study, settings, opened.name, directory)
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
