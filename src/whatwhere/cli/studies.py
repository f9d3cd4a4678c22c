"""One generic command for every study: its options are the study's settings, its output the study's summary."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer

from whatwhere.cli import console
from whatwhere.cli.places import place
from whatwhere.errors import WhatwhereError
from whatwhere.studies.study import Study, resolve

if TYPE_CHECKING:
    from whatwhere.studies.results import Results


def command_of(study: Study) -> Callable[..., None]:
    """A function that typer turns into the command of a study."""
    options = study.options()

    def command(**given: Any) -> None:
        source, step = given.pop("source", None), given.pop("step", None)
        out, compare = given.pop("out"), given.pop("compare", None) or []
        force, as_json = given.pop("force"), given.pop("as_json")
        settings = study.with_settings(**{name: _value(name, given[name], *options[name][:1]) for name in options})
        results = {}
        for each in (source, *compare):
            found = _measure(study, each, step if each is source else None, settings, out if each is source else None, force)
            results[found.name] = found
        _show(study, results, as_json)

    parameters = [*_subject_parameters(study), *(_parameter(name, *about) for name, about in options.items())]
    parameters += _common_parameters(study)
    command.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = f"{study.question} ({study.paper})\n\nTables and figures go to [bold]OUT/{study.name}[/bold]; an interrupted command goes on."
    command.__name__ = study.name
    return command


def _subject_parameters(study: Study) -> list[inspect.Parameter]:
    subject = study.subject
    if subject.argument is None:
        return []
    argument = typer.Argument(help=subject.help, metavar=subject.argument.upper())
    return [
        _keyword("source", Annotated[str, argument]),
        _keyword("step", Annotated[int | None, typer.Option(help="Which checkpoint of a run.", show_default="the last")], None),
    ]  # fmt: skip


def _common_parameters(study: Study) -> list[inspect.Parameter]:
    compare = typer.Option(help="Another one for the same figure; may be given several times.")
    where = "the run itself, or analysis-NAME" if study.subject.argument else "the working directory"
    common = [
        _keyword("out", Annotated[Path | None, typer.Option(help="Where results go.", show_default=where, parser=place)], None),
        _keyword("force", Annotated[bool, typer.Option("--force", help="Replace results made with other settings.")], False),
        _keyword("as_json", Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")], False),
    ]  # fmt: skip
    several = [_keyword("compare", Annotated[list[str] | None, compare], None)] if study.subject.argument else []
    return [*several, *common]


def _parameter(name: str, kind: Any, help_text: str, default: Any) -> inspect.Parameter:
    """One setting as an option; tuples are given as words with commas between them."""
    bare = _without_none(kind)
    option = typer.Option(help=help_text, show_default=_shown(default))
    if get_origin(bare) is tuple:
        return _keyword(name, Annotated[str | None, option], None)
    if bare is bool and default is False:
        return _keyword(name, Annotated[bool, typer.Option(f"--{name.replace('_', '-')}", help=help_text)], False)
    return _keyword(name, Annotated[kind if bare in (int, float, str, bool) else str, option], default)


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value(name: str, given: Any, kind: Any) -> Any:
    """What a user typed as the setting has it."""
    bare = _without_none(kind)
    if get_origin(bare) is not tuple or given is None:
        return given
    of = get_args(bare)[0]
    try:
        return tuple(of(word.strip()) for word in given.split(",") if word.strip())
    except ValueError as error:
        raise WhatwhereError(
            f"--{name.replace('_', '-')}: expected {of.__name__} values with commas between them, got {given!r:.80}."
        ) from error


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (UnionType, Union):
        return next(one for one in get_args(kind) if one is not NoneType)
    return kind


def _shown(default: Any) -> str | bool:
    if isinstance(default, tuple):
        return ",".join(map(str, default)) or "none"
    return default is not None


def _measure(study: Study, source: Any, step: int | None, settings: Any, out: Path | None, force: bool) -> Results:
    from whatwhere.store.addresses import local
    from whatwhere.studies.measuring import measure

    opened = study.subject.open(None if source is None else local(source, console.note), step)
    directory = (opened.home if out is None else out) / study.name
    with console.progress() as bar:
        shown = bar.add_task(study.name, total=None)
        try:
            return measure(
                study, opened, settings, directory, force=force,
                progress=lambda what, done, total: bar.update(shown, description=what, completed=done, total=total),
            )  # fmt: skip
        except KeyboardInterrupt:
            bar.stop()
            console.note(f"Stopped. What was measured is in {directory}; the same command goes on.")
            raise typer.Exit(console.INTERRUPTED) from None


def _show(study: Study, results: Mapping[str, Results], as_json: bool) -> None:
    """Draws the figures, then prints the tables as JSON or the summary."""
    from whatwhere.store.addresses import shown
    from whatwhere.studies.measuring import FIGURES, draw

    first = next(iter(results.values()))
    with console.err.status("drawing"):
        files = [file for one in results.values() for file in draw({one.name: one}, one.directory / FIGURES)]
        files += draw(results, first.directory / FIGURES, kind="models")
    if as_json:
        console.print_json({name: _content(one) for name, one in results.items()})
        return
    for one in results.values():
        for block in resolve(study.summary)(one):
            console.out.print(block)
    console.note(f"Tables: {shown(first.directory)}; {len(files)} files of figures in {shown(first.directory / FIGURES)}")


def _content(results: Results) -> dict[str, Any]:
    from whatwhere.store.addresses import shown
    from whatwhere.store.documents import plain

    tables = {name: frame.astype(object).where(frame.notna(), None).to_dict("records") for name, frame in results.items()}
    return {"directory": shown(results.directory), "settings": plain(results.settings), "tables": tables}
