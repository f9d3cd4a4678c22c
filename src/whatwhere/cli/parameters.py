"""Options of a command from a record: each field of a frozen dataclass becomes one option.

``Annotated[int, "Help."]`` has the help text; tuples are given as comma-separated words. Places are paths or addresses
in object storage, which have a local mirror.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from whatwhere.cli.console import note
from whatwhere.errors import WhatwhereError
from whatwhere.store.addresses import local, name_of_place

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def keyword(name: str, annotation: Any, default: Any = ...) -> inspect.Parameter:
    """A parameter that is not a field of a record; without a default it is required."""
    given = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=annotation)


def option(name: str, kind: Any, default: Any, *flags: str, **about: Any) -> inspect.Parameter:
    """An option that is not a field of a record, with the arguments of ``typer.Option``."""
    return keyword(name, Annotated[kind, typer.Option(*flags, **about)], default)


def options_of(record: type, leave_out: Sequence[str] = (), panel: str | None = None) -> list[inspect.Parameter]:
    """The parameters for the fields of a record; ``panel`` is their heading in the help."""
    kinds, documented = get_type_hints(record), get_type_hints(record, include_extras=True)
    found = []
    for field in fields(record):
        if field.name not in leave_out:
            (help_text, *_) = getattr(documented[field.name], "__metadata__", ("",))
            default = ... if field.default is MISSING else field.default
            found.append(_option(field.name, kinds[field.name], help_text, default, rich_help_panel=panel))
    return found


def argument_of(record: type, name: str) -> inspect.Parameter:
    """The positional parameter for a field of a record."""
    _, *notes = get_args(get_type_hints(record, include_extras=True)[name])
    argument = typer.Argument(help=str(notes[0]), metavar=name.upper(), show_default=False)
    return keyword(name, Annotated[str | None, argument], None)


def _option(name: str, kind: Any, help_text: str, default: Any, **about: Any) -> inspect.Parameter:
    bare, about = _without_none(kind), {"help": help_text, **about}
    if get_origin(bare) is tuple:
        shown = default is not None and (",".join(map(str, default)) or "none")
        return option(name, str | None, None, show_default=shown, **about)
    if bare is bool and default is False:
        return option(name, bool, False, f"--{dashed(name)}", **about)
    plain = kind if bare in (int, float, str, bool) else str
    return option(name, plain, default, show_default=default is not None, **about)


def record_of(record: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options as values of the fields; those that were not given are left out."""
    hints = get_type_hints(record)
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(record) if given.get(field.name) is not None):
        bare, value = _without_none(hints[name]), given[name]
        found[name] = value if get_origin(bare) is not tuple else _words(name, value, get_args(bare)[0])
    return found


def given_names(record: type, context: Any) -> list[str]:
    """The fields of a record that the user gave as options, from typer's context."""
    sources = {field.name: context.get_parameter_source(field.name) for field in fields(record)}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _words(name: str, text: str, kind: Any) -> tuple[Any, ...]:
    try:
        return tuple(kind(word.strip()) for word in text.split(",") if word.strip())
    except ValueError as error:
        raise WhatwhereError(
            f"--{dashed(name)}: expected {kind.__name__} values with commas between them, got {text!r:.80}."
        ) from error


def with_parameters(
    function: Callable[..., None], name: str, parameters: Sequence[inspect.Parameter], help_text: str
) -> None:
    """Gives a function that takes ``**given`` the signature that typer reads."""
    function.__signature__ = inspect.Signature(list(parameters))  # pyright: ignore[reportFunctionMemberAccess]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    function.__name__, function.__doc__ = name, re.sub(r"(?<!\n)\n(?!\n)", " ", help_text)  # the terminal wraps lines


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (UnionType, Union):
        return next(one for one in get_args(kind) if one is not NoneType)
    return kind


def dashed(name: str) -> str:
    """A field's name as that of an option."""
    return name.replace("_", "-")


def place(text: str) -> Path:
    """The local path of a place; ``s3://bucket/prefix`` is fetched first."""
    return Path(local(name_of_place(text), note))
