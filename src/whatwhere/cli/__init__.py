"""The ``whatwhere`` command: parse, call, save, print. One file per command, no computing here.

Heavy imports (torch, matplotlib, transformers) stand inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer

from whatwhere.cli import data, geometry, heads, length, llm, mechanism, report, reproduce, score, sweep, theory, train
from whatwhere.cli.addresses import paths_for_addresses
from whatwhere.cli.console import complain, note
from whatwhere.errors import WhatwhereError, WhatwhereWarning
from whatwhere.machine.memory import is_exhausted

_MEMORY_RAN_OUT = "whatwhere: memory ran out. Ask for fewer inputs or a smaller model, or use a larger machine.\n"

app = typer.Typer(
    name="whatwhere",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (data, train, score, heads, theory, mechanism, geometry, length, llm, sweep, reproduce, report):
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
    """Runs the command line; a user's mistake ends with one message and exit code 2, never with a traceback.

    So do the machine's limits: memory, and files that cannot be read or written.
    """
    warnings.showwarning = _show_warning
    try:
        with paths_for_addresses(sys.argv[1:]) as words:
            app(words)
    except WhatwhereError as error:
        complain(str(error))
    except OSError as error:
        complain(f"{error.filename or 'the system'}: {error.strerror or error}.")
    except (MemoryError, RuntimeError) as error:
        if not is_exhausted(error):
            raise
        sys.stderr.write(_MEMORY_RAN_OUT)  # plainly: colours would need memory, too
    else:
        return
    sys.exit(2)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Warnings of ours are for people, and read like notes; all others look as Python writes them."""
    if isinstance(message, WhatwhereWarning):
        note(str(message))
    else:
        print(warnings.formatwarning(message, category, *where[:2]), file=sys.stderr, end="")
