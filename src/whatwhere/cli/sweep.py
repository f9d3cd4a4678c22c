"""``whatwhere sweep``: many runs or models, in one table and one page."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console
from whatwhere.cli.console import INTERRUPTED
from whatwhere.cli.parameters import AsJson
from whatwhere.store.addresses import local, name_of_place, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from rich.progress import TaskID

    from whatwhere.work.executor import Event, Executor, Job, JobProgress
    from whatwhere.work.sweep_run import Sweep
    from whatwhere.work.sweep_spec import Item

SOME_FAILED = 1
"""The exit code of a sweep in which an item failed for good."""
_SHOWN_ITEMS, _SHOWN_COLUMNS = 40, 4


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: a file sweep.toml with the lines [bold]preset = 'short'[/bold], "
        "[bold]task = \\['number', 'letter'][/bold], [bold]seed = \\[0, 1, 2][/bold]; then "
        "[bold]whatwhere sweep sweep.toml --out sweeps/seeds[/bold]"
    )(sweep)


def sweep(
    spec: Annotated[
        Path,
        typer.Argument(
            help="What to run: a TOML or JSON file (docs/sweeps.md), or a study that brings one, such as atlas."
        ),
    ],
    out: Annotated[
        str, typer.Option(help="Where everything goes: a directory, or s3://bucket/prefix.", parser=name_of_place)
    ],
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
    as_json: AsJson = False,
) -> None:
    """Train and measure a grid of runs, or measure many models, into [bold]OUT/sweep.csv[/bold] and a page.

    Finished items are skipped, failed ones tried again and then reported; Ctrl-C stops, and the same command continues.
    """
    from whatwhere.machine.device import cores
    from whatwhere.work.sweep_run import NEEDED, Sweep
    from whatwhere.work.sweep_spec import read_sweep

    items = read_sweep(spec)
    count = workers or cores()
    if dry_run:
        _preview(items, count, as_json)
        return
    work = Sweep(items, Path(local(out, console.note, NEEDED)), out)
    work.check()
    _run(work, count, ray, retries)
    _finish(work, as_json)


def _executor(count: int, ray: str | None, progress: JobProgress) -> Executor:
    from whatwhere.work.cluster import RayCluster
    from whatwhere.work.processes import WorkerProcesses

    return WorkerProcesses(count, progress=progress) if ray is None else RayCluster(ray)


def _run(work: Sweep, count: int, ray: str | None, retries: int) -> None:
    """Runs the items with a progress display."""
    from whatwhere.store.locks import hold

    with hold(work.directory, "sweep"), console.Bar() as bar:
        line = bar.add_task("sweep", total=len(work.items))
        under_way: dict[str, TaskID] = {}

        def progress(job: str, what: str, done: int, total: int) -> None:
            if job not in under_way:
                under_way[job] = bar.add_task(job, total=None)
            bar.update(under_way[job], description=f"{job}: {what}", completed=done, total=total)

        def observe(job: Job, event: Event, about: Any) -> None:
            if event != "begun" and job.name in under_way:
                bar.remove_task(under_way.pop(job.name))
            if event in ("done", "failed"):
                bar.update(line, advance=1, description=job.name)
            if event in ("again", "failed"):
                console.note(f"{job.name} failed, {'it is tried again' if event == 'again' else 'given up'}: {about}")
            elif event == "done" and not console.err.is_terminal:
                console.note(f"{job.name}: done")

        executor = _executor(count, ray, progress)
        try:
            with redirect_stdout(sys.stderr):  # Ray prints messages, and stdout is for results
                work.run(executor, retries, observe)
        except KeyboardInterrupt:
            bar.stop()
            console.note("Stopped. What was done is kept; the same command continues.")
            raise typer.Exit(INTERRUPTED) from None
        finally:
            executor.stop()


def _preview(items: Sequence[Item], count: int, as_json: bool) -> None:
    from whatwhere.work.timing import bytes_of, duration, seconds_of, size, training_seconds

    costs = []
    with console.Bar() as bar:
        line = bar.add_task("timing a step of each kind of model", total=len(items))
        for item in items:
            config = item.training
            costs.append((math.nan, 0) if config is None else (seconds_of(config), bytes_of(config)))
            bar.update(line, advance=1)
    configs = [config for item in items if (config := item.training) is not None]
    seconds, stored = training_seconds(configs, count), sum(taken for _, taken in costs)
    if as_json:
        listed = [
            {"item": item.name, **item.settings, "seconds": cost, "bytes": taken}
            for item, (cost, taken) in zip(items, costs, strict=True)
        ]
        console.print_json({"items": listed, "workers": count, "seconds": seconds, "bytes": stored})
        return
    table = console.table("item", "training", "disk", left=("item",))
    for item, (cost, taken) in list(zip(items, costs, strict=True))[:_SHOWN_ITEMS]:
        table.add_row(item.name, duration(cost), size(taken))
    console.out.print(table)
    if len(items) > _SHOWN_ITEMS:
        console.remark(f"... and {len(items) - _SHOWN_ITEMS} more")
    console.out.print(
        f"{len(items)} items: {duration(seconds)} of training with {count} processes of one thread "
        f"(measuring comes on top), {size(stored)} on disk."
    )
    console.remark("Timed on one core of this machine as it is now.")


def _finish(work: Sweep, as_json: bool) -> None:
    from whatwhere.work.sweep_figures import draw_sweep

    table = work.collect()
    with console.err.status("drawing"):
        files = draw_sweep(table, work.directory)
    failed, place = sum(status != "done" for status in table["status"].tolist()), shown(work.directory)
    if as_json:
        rows, named = table.to_dict("records"), [shown(file) for file in files]
        console.print_json({"table": f"{place}/sweep.csv", "items": rows, "failed": failed, "files": named})
    else:
        _print(table, place)
    if failed:
        console.complain(f"{failed} of {len(table)} items failed; the last column of sweep.csv says why.")
        raise typer.Exit(SOME_FAILED)


def _print(rows: pd.DataFrame, place: str) -> None:
    numbers = [name for name in rows.select_dtypes("number") if name not in ("seed", "steps", "seconds")][
        :_SHOWN_COLUMNS
    ]
    table = console.table("item", "status", *numbers, left=("item", "status"))
    for column in table.columns[:2]:
        column.min_width = 12
    for row in rows.head(_SHOWN_ITEMS).to_dict("records"):
        cells = ["" if row[name] != row[name] else f"{row[name]:.4g}" for name in numbers]
        table.add_row(str(row["item"]), str(row["status"]), *cells)
    console.out.print(table)
    if len(rows) > _SHOWN_ITEMS:
        console.remark(f"... and {len(rows) - _SHOWN_ITEMS} more")
    console.note(f"All of it: {place}/sweep.csv, sweep.html and figures/sweep.pdf.")
