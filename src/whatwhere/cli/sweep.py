"""``whatwhere sweep``: many runs or models, in one table and one page."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console
from whatwhere.cli.train import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whatwhere.work.sweep import Event, Sweep
    from whatwhere.work.sweep_spec import Item
    from whatwhere.work.sweep_workers import Workers

SOME_FAILED = 1
"""The exit code of a sweep in which an item failed for good."""
_SHOWN_ITEMS = 40


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: a file sweep.toml with the lines [bold]preset = 'quick'[/bold], "
        "[bold]task = \\['number', 'letter'][/bold], [bold]seed = \\[0, 1, 2][/bold]; then "
        "[bold]whatwhere sweep sweep.toml --out sweeps/seeds[/bold]"
    )(sweep)


def sweep(
    spec: Annotated[Path, typer.Argument(help="What to run: TOML or JSON; see docs/sweeps.md.")],
    out: Annotated[str, typer.Option(help="Where everything goes: a directory, or s3://bucket/prefix.")],
    workers: Annotated[
        int | None, typer.Option(help="Processes, one thread each.", show_default="one per core", min=1)
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster instead (auto, HOST:PORT, local).")
    ] = None,
    retries: Annotated[int, typer.Option(help="How often a failed item is tried again.", min=0)] = 2,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the items and what they will cost, no more.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train and measure a grid of runs, or measure many models, into [bold]OUT/sweep.csv[/bold] and a page.

    Finished items are skipped, failed ones tried again and then reported; Ctrl-C stops, and the same command goes on.
    """
    from whatwhere.store import addresses as remote
    from whatwhere.training.presets import cores
    from whatwhere.work.sweep import NEEDED, Sweep
    from whatwhere.work.sweep_spec import read_sweep

    items = read_sweep(spec)
    count = workers or cores()
    if dry_run:
        _preview(items, count, as_json)
        return
    directory = Path(remote.local(out, console.note, NEEDED))
    work = Sweep(items, directory)
    work.check()
    _run(work, _workers(out, count, ray), retries)
    _finish(work, as_json)


def _workers(out: str, count: int, ray: str | None) -> Workers:
    from whatwhere.work.sweep_workers import LocalWorkers, RayWorkers

    return LocalWorkers(out, count) if ray is None else RayWorkers(out, ray)


def _run(work: Sweep, workers: Workers, retries: int) -> None:
    """Does the work in view."""
    from whatwhere.store.lock import only_one

    with only_one(work.directory, "sweep"), console.progress() as bar:
        shown = bar.add_task("sweep", total=len(work.items))

        def observe(item: Item, event: Event, why: str) -> None:
            if event != "again":
                bar.update(shown, advance=1, description=item.name)
            if event in ("again", "failed"):
                then = "it is tried again" if event == "again" else "given up"
                console.note(f"{item.name} failed, {then}: {why}")
            elif not console.err.is_terminal:
                console.note(f"{item.name}: {'done before' if event == 'kept' else 'done'}")

        try:
            with redirect_stdout(sys.stderr):  # Ray talks of nodes that died, and stdout is for results
                work.run(workers, retries, observe)
        except KeyboardInterrupt:
            bar.stop()
            console.note("Stopped; what was done is kept, and the same command goes on.")
            raise typer.Exit(INTERRUPTED) from None
        finally:
            workers.stop()


def _preview(items: Sequence[Item], count: int, as_json: bool) -> None:
    from whatwhere.work.sweep_estimate import estimate
    from whatwhere.work.timing import duration, size

    with console.progress() as bar:
        shown = bar.add_task("timing a step of each kind of model", total=None)
        costs = estimate(items, lambda done, total: bar.update(shown, completed=done, total=total))
    known = [cost.seconds for cost in costs if not math.isnan(cost.seconds)]
    longest, total = max(known, default=0.0), sum(known)
    seconds, stored = max(total / count, longest), sum(cost.bytes for cost in costs)
    if as_json:
        listed = [
            {"item": item.name, "kind": item.kind, **item.settings, "seconds": cost.seconds, "bytes": cost.bytes}
            for item, cost in zip(items, costs, strict=True)
        ]
        console.print_json({"items": listed, "workers": count, "seconds": seconds, "bytes": stored})
        return
    table = console.table("item", "training, at most", "disk", left=("item",))
    for item, cost in list(zip(items, costs, strict=True))[:_SHOWN_ITEMS]:
        table.add_row(item.name, duration(cost.seconds), size(cost.bytes))
    console.out.print(table)
    if len(items) > _SHOWN_ITEMS:
        console.remark(f"... and {len(items) - _SHOWN_ITEMS} more")
    console.out.print(
        f"{len(items)} items: {duration(seconds)} of training at most with {count} processes of one thread "
        f"(measuring comes on top), {size(stored)} on disk."
    )
    console.remark("Timed on one core of this machine as it is now; a run that has learned its task ends earlier.")


def _finish(work: Sweep, as_json: bool) -> None:
    from whatwhere.store import addresses as remote
    from whatwhere.work.sweep_figures import draw_sweep

    rows = work.collect()
    with console.err.status("drawing"):
        files = draw_sweep(work.directory)
    failed = [row for row in rows if row["status"] != "done"]
    place = remote.shown(work.directory)
    if as_json:
        shown = [remote.shown(file) for file in files]
        console.print_json({"table": f"{place}/sweep.csv", "items": rows, "failed": len(failed), "files": shown})
    else:
        _print(rows, place)
    if failed:
        console.complain(f"{len(failed)} of {len(rows)} items failed; the last column of sweep.csv says why.")
        raise typer.Exit(SOME_FAILED)


def _print(rows: Sequence[dict[str, Any]], place: str) -> None:
    numbers = ("accuracy", "positional", "symbolic", "half_length")
    there = [name for name in numbers if any(name in row for row in rows)]
    table = console.table("item", "status", *there, left=("item", "status"))
    for row in rows[:_SHOWN_ITEMS]:
        table.add_row(row["item"], row["status"], *(f"{row[name]:.4g}" if name in row else "" for name in there))
    console.out.print(table)
    if len(rows) > _SHOWN_ITEMS:
        console.remark(f"... and {len(rows) - _SHOWN_ITEMS} more")
    console.note(f"All of it: {place}/sweep.csv, heads.csv, sweep.html and figures/sweep.pdf.")
