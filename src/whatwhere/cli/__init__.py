"""The ``whatwhere`` command: parse, call, print. Studies share one command; the others have a file each.

Heavy imports (torch, matplotlib, transformers) are inside the commands, so that ``--help`` is fast.
"""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from whatwhere.cli import data, head_tables, report, reproduce, sweep, train
from whatwhere.cli.console import complain, note
from whatwhere.cli.studies import command_of
from whatwhere.errors import WhatwhereError, WhatwhereWarning
from whatwhere.machine.memory import is_exhausted
from whatwhere.store.addresses import send_rest
from whatwhere.studies import STUDIES, study_named

_MEMORY_RAN_OUT = "whatwhere: memory ran out. Ask for fewer inputs or a smaller model, or use a larger machine.\n"
_PANELS = {
    "Tasks and training": ("data", "train"),
    "Heads of any model": ("compare", "share"),
    "Models of the paper's tasks": (),
    "Language models": (),
    "Theory and scores": (),
    "The whole paper, and many runs": ("reproduce", "report", "sweep"),
}
"""The headings of the list of commands, in order, and their commands besides studies."""
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}


class _Commands(TyperGroup):
    """The commands that are not studies, and one for each study, created on demand."""

    _listing = False
    """True while the list of commands is printed, which needs no options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of all commands."""
        _plain_types(self, ctx)
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Sorted by heading, studies first; studies with other headings come last."""
        del ctx
        headings = {name: study_named(name).panel for name in STUDIES} | _PANEL_OF
        order = [*_PANELS, *headings.values()]
        return sorted(headings, key=lambda name: order.index(headings[name]))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Suggests similar names for a mistyped command."""
        names = {*_PANEL_OF, *STUDIES}
        near = [] if args[0] in names else get_close_matches(args[0], sorted(names))
        if near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Creates the command of a study."""
        if cmd_name not in STUDIES:
            command: Any = super().get_command(ctx, cmd_name)
            if command is not None:
                command.rich_help_panel = _PANEL_OF[cmd_name]
            return _plain_types(command, ctx)
        study = study_named(cmd_name)
        if self._listing:
            return TyperCommand(study.name, short_help=study.question, rich_help_panel=study.panel)
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich", context_settings=_HELP)
        epilog = f"Example: [bold]{escape(study.example)}[/bold]" if study.example else None
        alone.command(study.name, epilog=epilog, short_help=study.question)(command_of(study))
        return _plain_types(typer.main.get_command(alone), ctx)


_TYPES = {"<bool>": "", "<Path>": "<path>", "<list[str]>": "<str>", "<int range>": "<int>"}
"""Names of types in the help, by typer's names."""


def _plain_types(command: Any, ctx: Any) -> Any:
    """In the help of a command, flags have no type and arguments are in capitals."""
    for parameter in [] if command is None else command.get_params(ctx):
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or parameter.name.upper()
            if parameter.required:  # typer writes {MODEL}, which reads like a set of choices
                parameter.get_usage_pieces = lambda _, name=parameter.metavar: [name]
        elif (kind := parameter.display_type(ctx)) in _TYPES:
            parameter.metavar = _TYPES[kind]
    return command


_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="whatwhere",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)

for command in (data, train, head_tables, reproduce, report, sweep):
    command.register(app)


def _version(wanted: bool) -> bool:
    if wanted:
        from whatwhere import __version__

        typer.echo(f"whatwhere {__version__}")
        raise typer.Exit
    return wanted


@app.callback(
    epilog="Start with: [bold]whatwhere data number --show 2[/bold], then [bold]whatwhere heads letter[/bold]. "
    "Example and options of a command: [bold]whatwhere COMMAND --help[/bold]."
)
def whatwhere(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Does an attention head look at [bold]where[/bold] a token stands, or at [bold]what[/bold] it is?"""
    del version


def main() -> None:
    """Runs the command line; a user's mistake ends with one message and exit code 2, never with a traceback.

    So does running out of memory, and a file that cannot be read or written.
    """
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Unicode gets question marks, not an error
            stream.reconfigure(errors="replace")
    try:
        try:
            with _logs_as_notes():
                app()
        except SystemExit:  # every command ends with it, also without an error
            send_rest()  # upload files that other processes wrote for addresses in object storage
            raise
    except WhatwhereError as error:
        complain(str(error))
    except OSError as error:
        complain(f"{error.filename or 'the system'}: {error.strerror or error}.")
    except (MemoryError, RuntimeError) as error:
        if not is_exhausted(error):
            raise
        sys.stderr.write(_MEMORY_RAN_OUT)  # without rich, which would need memory
    else:
        return
    sys.exit(2)


class _Notes(logging.Handler):
    """Prints what the package logs as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


@contextmanager
def _logs_as_notes() -> Iterator[None]:
    """Shows what the package logs, for the time of a command."""
    own, notes = logging.getLogger("whatwhere"), _Notes()
    before = own.level
    own.setLevel(logging.INFO)
    own.addHandler(notes)
    try:
        yield
    finally:
        own.removeHandler(notes)
        own.setLevel(before)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Prints our warnings as notes, and others in Python's format."""
    if isinstance(message, WhatwhereWarning):
        note(str(message))
    else:
        note(warnings.formatwarning(message, category, *where[:2]).rstrip())
