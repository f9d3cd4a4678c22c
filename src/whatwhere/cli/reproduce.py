"""``whatwhere reproduce``: the whole paper, in stages that are skipped when they are done."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from whatwhere.cli import console
from whatwhere.cli.report import print_claims
from whatwhere.cli.train import INTERRUPTED
from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.progress import TaskID

    from whatwhere.studies.claims_face import Judged
    from whatwhere.work.stage import Event, Stage
    from whatwhere.work.stages import Work
    from whatwhere.work.timing import Timing

MARKS = {"waiting": "[dim]·[/dim]", "begun": "[cyan]>[/cyan]", "done": "[green]✓[/green]", "kept": "[green]=[/green]"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere reproduce --out reproduction[/bold]; only some stages: "
        "[bold]whatwhere reproduce --out reproduction --only train --only score-number[/bold]; without training: "
        "[bold]whatwhere reproduce --out reproduction --from-zoo[/bold]"
    )(reproduce)


def reproduce(
    out: Annotated[Path, typer.Option(help="Where everything goes; what is there already is kept.")],
    preset: Annotated[str, typer.Option(help="Of the trainings: smoke (a try-out), quick, laptop, paper.")] = "laptop",
    from_zoo: Annotated[
        bool, typer.Option("--from-zoo", help="Start from the shipped models and their histories; train nothing.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the first training of each task.")] = 0,
    seeds: Annotated[int, typer.Option(help="Trainings of each task; every claim then has its spread over them.")] = 1,
    only: Annotated[
        list[str] | None, typer.Option(help="A stage, or a kind such as train; may be given several times.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Stages at a time, in processes of their own; as many as cores by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Redo the paper: data, both trainings, scores, theory, mechanism, geometry, length; figures, claims, the page.

    A stage is skipped when its results are there and its inputs unchanged. Ctrl-C stops; the same command goes on.
    Ends with exit code 1 if a claim that held in the recorded baseline does not hold.
    """
    from functools import partial

    from whatwhere.page import write_page
    from whatwhere.store.lock import only_one
    from whatwhere.studies.claims_face import judge, regressions
    from whatwhere.training.presets import cores
    from whatwhere.work.plan import Plan
    from whatwhere.work.reproduction import all_stages
    from whatwhere.work.stages import Work
    from whatwhere.work.timing import timings, write_timings

    hands = cores() if workers is None else workers
    if hands < 1:
        raise WhatwhereError(f"one worker or more was expected, and {workers} arrived.")
    plan = Plan(preset, seed, seeds, from_zoo, threads=max(cores() // hands, 1))
    make = partial(all_stages, plan)
    work = Work(make(), out)
    chosen = work.choose(only or [])
    with only_one(out, "reproduce"):
        kept = _run(work, chosen, make, hands, plan.threads)
        records = [record for stage in work.stages.values() if (record := work.record(stage)) and record.results]
        rows = timings(records, work.elapsed)
        write_timings(out / "timing.csv", rows)
        if "claims" in {stage.name for stage in chosen}:
            write_page(out)  # it shows claims and times, so it comes after them
    judged = judge(out) if (out / "claims.json").is_file() else []
    lost = regressions(judged, plan.baseline, partial=bool(only))
    if as_json:
        console.print_json(_result(out, rows, kept, judged, lost))
    else:
        _print(rows, kept)
        print_claims(judged)
        page = out / "report.html"
        console.note(f"Look at {page}" if page.is_file() else f"What was made is in {out}; the page needs all stages.")
    for claim in lost:
        console.complain(claim)
    if lost:
        raise typer.Exit(1)


def _run(work: Work, chosen: Sequence[Stage], make: Callable[[], list[Stage]], hands: int, threads: int) -> set[str]:
    """Runs the stages in view; returns the names of those that were done already."""
    from whatwhere.training.interrupt import Interrupted
    from whatwhere.work.stage import Alone
    from whatwhere.work.workers import Workers

    with View(chosen) as view:
        try:
            if hands == 1:
                work.run(chosen, view.observe, Alone(work.directory, view.said))
            else:
                with Workers(make, work.directory, hands, threads, view.said) as crew:
                    work.run(chosen, view.observe, crew)
        except (Interrupted, KeyboardInterrupt):
            view.stop()
            console.note("Stopped; what was done is kept, and the same command goes on.")
            raise typer.Exit(INTERRUPTED) from None
    return view.kept


class View(Progress):
    """All stages at once: which are done, what the current one is doing, and how long it will take.

    Without a terminal, a line at the beginning and at the end of each stage.
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        super().__init__(
            TextColumn("{task.fields[mark]} {task.description:<16}"),
            BarColumn(bar_width=20, pulse_style="bar.back"),  # stages that wait keep still
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[doing]}", markup=False),
            console=console.err,
            disable=not console.err.is_terminal,
        )
        self.kept: set[str] = set()
        self._lines: dict[str, TaskID] = {
            stage.name: self.add_task(stage.name, start=False, total=None, mark=MARKS["waiting"], doing="")
            for stage in stages
        }

    def observe(self, stage: Stage, event: Event) -> None:
        """Moves the marks."""
        line = self._lines[stage.name]
        said = {"kept": "done before, inputs unchanged", "begun": "", "done": stage.title}[event]
        if event == "begun":
            self.start_task(line)
        else:
            self.update(line, total=1, completed=1)
            self.stop_task(line)
        if event == "kept":
            self.kept.add(stage.name)
        self.update(line, mark=MARKS[event], doing=said)
        if not console.err.is_terminal:
            console.note(f"{stage.name}: {said or stage.title + ' ...'}" if event != "done" else f"{stage.name}: done")

    def said(self, stage: str, what: str, done: int, total: int) -> None:
        """Says what a stage is doing."""
        self.update(self._lines[stage], completed=done, total=total, doing=what)


def _result(
    out: Path, rows: Sequence[Timing], kept: set[str], judged: Sequence[Judged], lost: Sequence[str]
) -> dict[str, Any]:
    from whatwhere.work.timing import SUMS

    return {
        "directory": str(out),
        "stages": [{**asdict(row), "kept": row.stage in kept} for row in rows if row.stage not in SUMS],
        **{row.stage: asdict(row) for row in rows if row.stage in SUMS},
        "figures": sorted(str(path) for path in (out / "figures").glob("*.pdf")),
        "claims": [claim.to_dict() for claim in judged],
        "no_longer": list(lost),
    }


def _print(rows: Sequence[Timing], kept: set[str]) -> None:
    from whatwhere.work.timing import SUMS, duration, size

    table = console.table("stage", "time", "disk", "their GPU", "their CPU", "their disk", left=("stage",))
    for row in rows:
        if row.stage == SUMS[0]:
            table.add_section()
        table.add_row(
            row.stage + " =" * (row.stage in kept), duration(row.seconds), size(row.bytes),
            duration(row.authors_gpu_seconds), duration(row.authors_cpu_seconds), size(row.authors_bytes),
        )  # fmt: skip
    console.out.print(table)
    console.remark(
        "The authors trained on one RTX A5000; their metrics took 5 h of GPU and 8.5 h of a 16-core CPU per model. "
        "Time counts all sittings; elapsed is less than the total where stages ran side by side; = was done before."
    )
