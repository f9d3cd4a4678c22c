"""``whatwhere report``: the figures of a reproduction, redrawn from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whatwhere.cli import console


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere report reproduction[/bold], or a single run: "
        "[bold]whatwhere report runs/number[/bold]"
    )(report)


def report(
    directory: Annotated[Path, typer.Argument(help="What `whatwhere reproduce` made, or a run that was scored.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Redraw every figure from what is on disk, into [bold]DIR/figures[/bold]; nothing is computed anew.

    PDF and PNG of each, and index.csv, which says where the data of each lies.
    """
    from whatwhere.report.reproduction import FOLDER, draw_everything

    with console.progress() as bar:
        shown = bar.add_task("drawing", total=None)
        gallery = draw_everything(
            directory, lambda what, done, total: bar.update(shown, description=what, completed=done, total=total)
        )
    if as_json:
        console.print_json({"figures": [str(file) for file in gallery.figures], "missing": gallery.missing})
        return
    for name in dict.fromkeys(file.stem for file in gallery.figures):
        console.out.print(f"{directory / FOLDER / name}.pdf, .png", markup=False, soft_wrap=True)
    for missing in gallery.missing:
        console.note(f"not there yet, {missing}")
