"""``whatwhere reproduce``: the whole paper in one command, which can be interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from whatwhere.cli import console
from whatwhere.cli.parameters import AsJson, keyword, option, options_of, place, record_of, with_parameters
from whatwhere.cli.report import print_claims
from whatwhere.errors import WhatwhereError
from whatwhere.training.interrupt import Interrupted
from whatwhere.work.plan import Plan, choose

if TYPE_CHECKING:
    from rich.progress import TaskID

    from whatwhere.work.executor import Event, Job
    from whatwhere.work.timing import Timing

MOST_WORKERS = 1024
_MARKS = {"waiting": "[dim]·[/dim]", "begun": "[cyan]>[/cyan]", "done": "[green]✓[/green]", "kept": "[green]=[/green]"}


def register(app: typer.Typer) -> None:
    """Adds the command: the fields of :class:`~whatwhere.work.plan.Plan` are its options."""

    def reproduce(**given: Any) -> None:
        from whatwhere.machine.device import cores

        count = cores() if given["workers"] is None else given["workers"]
        if not 1 <= count <= MOST_WORKERS:
            raise WhatwhereError(f"--workers: expected 1 to {MOST_WORKERS:,}, got {count:,}.")
        plan = Plan(**record_of(Plan, given), threads=max(cores() // count, 1))
        _reproduce(plan, given["out"], given["only"] or [], count, given["as_json"])

    at_a_time = "Jobs at a time, in processes of their own."
    parameters = [
        option("out", Path, ..., help="Where everything goes; what is there already is kept.", parser=place),
        *options_of(Plan, leave_out=("threads",)),
        option("only", list[str] | None, None, help="A job, or a group such as train; may be given several times."),
        option("workers", int | None, None, help=at_a_time, show_default="one per core"),
        keyword("as_json", AsJson, False),
    ]
    with_parameters(reproduce, "reproduce", parameters, _HELP)
    app.command(
        epilog="Example: [bold]whatwhere reproduce --out reproduction[/bold]; only some jobs: "
        "[bold]whatwhere reproduce --out reproduction --only train --only length-number[/bold]; without training: "
        "[bold]whatwhere reproduce --out reproduction --from-zoo[/bold]"
    )(reproduce)


_HELP = """Redo the paper: both trainings, every study, figures, claims, the page.

A job is skipped when its results are up to date. Ctrl-C stops; the same command continues. Ends with exit code 1 if a
claim that held in the recorded baseline does not hold."""


def _reproduce(plan: Plan, out: Path, only: Sequence[str], workers: int, as_json: bool) -> None:
    from whatwhere.work.reproduction import Reproduction

    work = Reproduction(plan, out)
    chosen = choose(work.jobs, only)
    if plan.preset == "paper" and any(job.group == "train" for job in chosen):
        minutes = work.estimate(chosen, workers) / 60
        console.note(f"The trainings will take about {minutes:.0f} minutes with {workers} workers.")
    with View(chosen) as view:
        try:
            done = work.run(chosen, workers, view.observe, view.progress)
        except (KeyboardInterrupt, Interrupted):
            view.stop()
            console.note("Stopped. What was done is kept; the same command continues.")
            raise typer.Exit(console.INTERRUPTED) from None
    if as_json:
        console.print_json(done.to_dict())
    else:
        _print(done.timings, view.kept)
        print_claims(done.judged)
        console.note(f"Look at {done.page}" if done.page else f"What was made is in {out}; the page needs all jobs.")
    for claim in done.lost:
        console.complain(claim)
    if done.lost:
        raise typer.Exit(1)


class View(console.Bar):
    """The progress display of all jobs."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__(
            TextColumn("{task.fields[mark]} {task.description:<20}"),
            BarColumn(bar_width=20, pulse_style="bar.back"),  # no animation for waiting jobs
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[doing]}", markup=False),
        )
        self.kept: set[str] = set()
        self._lines: dict[str, TaskID] = {
            job.name: self.add_task(job.name, start=False, total=None, mark=_MARKS["waiting"], doing="") for job in jobs
        }

    def observe(self, job: Job, event: Event, about: Any) -> None:
        """Updates the marks; without a terminal, prints a line at the start and the end of each job."""
        line = self._lines[job.name]
        kept = event == "done" and about == "kept"
        if event == "begun":
            self.start_task(line)
        else:
            self.update(line, total=1, completed=1)
            self.stop_task(line)
        if kept:
            self.kept.add(job.name)
        self.update(line, mark=_MARKS["kept" if kept else event], doing="up to date" if kept else job.title)
        if not console.err.is_terminal:
            console.note(f"{job.name}: {'up to date' if kept else event}")

    def progress(self, job: str, what: str, done: int, total: int) -> None:
        """Shows what a job is doing."""
        self.update(self._lines[job], completed=done, total=total, doing=what)


def _print(rows: Sequence[Timing], kept: set[str]) -> None:
    from whatwhere.work.timing import SUMS, duration, size

    table = console.table("job", "time", "disk", "their GPU", "their CPU", "their disk", left=("job",))
    for row in rows:
        if row.job == SUMS[0]:
            table.add_section()
        table.add_row(
            row.job + " =" * (row.job in kept), duration(row.seconds), size(row.bytes),
            duration(row.authors_gpu_seconds), duration(row.authors_cpu_seconds), size(row.authors_bytes),
        )  # fmt: skip
    console.out.print(table)
    console.remark(
        "The authors trained on one RTX A5000; their metrics took 5 h of GPU and 8.5 h of a 16-core CPU per model. "
        "Time counts all sessions; elapsed is less than the total where jobs ran in parallel; = was up to date."
    )
