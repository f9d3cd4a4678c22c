"""The ``whatwhere`` command: parse, call, save, print. One file per command, no computing here.

Heavy imports (torch, matplotlib, transformers) stand inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys

import typer

from whatwhere.cli import data, geometry, heads, length, mechanism, report, reproduce, score, theory, train
from whatwhere.cli.console import complain
from whatwhere.errors import WhatwhereError

app = typer.Typer(
    name="whatwhere",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (data, train, score, heads, theory, mechanism, geometry, length, reproduce, report):
    command.register(app)


def _version(wanted: bool) -> bool:
    if wanted:
        from whatwhere import __version__

        typer.echo(f"whatwhere {__version__}")
        raise typer.Exit
    return wanted


@app.callback(
    epilog="Start with: [bold]whatwhere data number --show 2[/bold], then [bold]whatwhere heads number[/bold]."
)
def whatwhere(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Does an attention head look at [bold]where[/bold] a token stands, or at [bold]what[/bold] it is?"""
    del version


def main() -> None:
    """Runs the command line; a user's mistake ends with one message and exit code 2, never with a traceback."""
    try:
        app()
    except WhatwhereError as error:
        complain(str(error))
        sys.exit(2)
