"""``whatwhere reproduce``: the whole paper, in stages that are skipped when they are done."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from whatwhere.cli import console
from whatwhere.cli.train import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.progress import TaskID

    from whatwhere.experiments.stages import Event, Stage, Work
    from whatwhere.report.timing import Timing

MARKS = {"waiting": "[dim]·[/dim]", "begun": "[cyan]>[/cyan]", "done": "[green]✓[/green]", "kept": "[green]=[/green]"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere reproduce --out reproduction[/bold]; only some stages: "
        "[bold]whatwhere reproduce --out reproduction --only train --only score-number[/bold]"
    )(reproduce)


def reproduce(
    out: Annotated[Path, typer.Option(help="Where everything goes; what is there already is kept.")],
    preset: Annotated[str, typer.Option(help="Of the trainings: smoke (a try-out), quick, laptop, paper.")] = "laptop",
    seed: Annotated[int, typer.Option(help="Of the trainings.")] = 0,
    only: Annotated[
        list[str] | None, typer.Option(help="A stage, or a kind such as train; may be given several times.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Redo the paper: data, both trainings, scores, theory, mechanism, geometry, length, figures.

    A stage is skipped when its results are there and its inputs unchanged. Ctrl-C stops; the same command goes on.
    Not part of it yet: claims, the interactive page, the benchmark for chat models.
    """
    from whatwhere.experiments.reproduce import NOT_YET, computing_stages
    from whatwhere.experiments.stages import Work
    from whatwhere.report.reproduction import figures_stage
    from whatwhere.report.timing import timings, write_timings

    computing = computing_stages(preset, seed)
    work = Work([*computing, figures_stage(computing)], out)
    chosen = work.choose(only or [])
    kept = _run(work, chosen)
    records = [record for stage in work.stages.values() if (record := work.record(stage)) and record.results]
    rows = timings(records)
    write_timings(out / "timing.csv", rows)
    if as_json:
        console.print_json(_result(out, rows, kept))
        return
    _print(rows, kept)
    console.note(f"Figures: {out / 'figures'}. Timing: {out / 'timing.csv'}.")
    console.note("Not part of the reproduction yet: " + "; ".join(NOT_YET) + ".")


def _run(work: Work, chosen: Sequence[Stage]) -> set[str]:
    """Runs the stages in view; returns the names of those that were done already."""
    from whatwhere.training.interrupt import Interrupted

    with View(chosen) as view:
        try:
            work.run(chosen, view.observe, view.progress)
        except (Interrupted, KeyboardInterrupt):
            view.stop()
            console.note(f"Stopped in {view.current}; what was done is kept, and the same command goes on.")
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
        self.current = ""
        self._lines: dict[str, TaskID] = {
            stage.name: self.add_task(stage.name, start=False, total=None, mark=MARKS["waiting"], doing="")
            for stage in stages
        }

    def observe(self, stage: Stage, event: Event) -> None:
        """Moves the marks."""
        line = self._lines[stage.name]
        self.current = stage.name
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

    def progress(self, what: str, done: int, total: int) -> None:
        """Says what the current stage is doing."""
        self.update(self._lines[self.current], completed=done, total=total, doing=what)


def _result(out: Path, rows: Sequence[Timing], kept: set[str]) -> dict[str, Any]:
    from whatwhere.experiments.reproduce import NOT_YET

    return {
        "directory": str(out),
        "stages": [{**asdict(row), "kept": row.stage in kept} for row in rows[:-1]],
        "total": asdict(rows[-1]),
        "figures": sorted(str(path) for path in (out / "figures").glob("*.pdf")),
        "not_part_yet": list(NOT_YET),
    }


def _print(rows: Sequence[Timing], kept: set[str]) -> None:
    from whatwhere.report.timing import TOTAL, duration, size

    table = console.table("stage", "time", "disk", "their GPU", "their CPU", "their disk", left=("stage",))
    for row in rows:
        if row.stage == TOTAL:
            table.add_section()
        table.add_row(
            row.stage + " =" * (row.stage in kept), duration(row.seconds), size(row.bytes),
            duration(row.authors_gpu_seconds), duration(row.authors_cpu_seconds), size(row.authors_bytes),
        )  # fmt: skip
    console.out.print(table)
    console.remark(
        "The authors trained on one RTX A5000; their metrics took 5 h of GPU and 8.5 h of a 16-core CPU per model. "
        "Time counts all sittings; = was done before."
    )
