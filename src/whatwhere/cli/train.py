"""``whatwhere train``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli.console import INTERRUPTED, Bar, note, out, print_json
from whatwhere.cli.parameters import given_names, keyword, option, options_of, record_of, with_parameters
from whatwhere.errors import WhatwhereError
from whatwhere.store.addresses import local, name_of_place, shown
from whatwhere.tasks.task_options import TaskOptions
from whatwhere.training.interrupt import Interrupted
from whatwhere.training.options import ModelOptions, Options
from whatwhere.training.tracking import Start, find_tracker

if TYPE_CHECKING:
    from whatwhere.training.distributed import Processes
    from whatwhere.training.loop import Observer, Progress
    from whatwhere.training.run import Run


def register(app: typer.Typer) -> None:
    """Adds the command: the fields of :class:`~whatwhere.training.options.Options` are its options."""

    def train(**given: Any) -> None:
        options, named = Options(**record_of(Options, given)), given_names(Options, given["typer_context"])
        _train_command(options, given["out"], given["track"], named if given["resume"] else None, given["as_json"])

    where = "The run directory to create or to continue: a path or s3://bucket/prefix."
    parameters = [
        keyword("task", Annotated[str, typer.Argument(help="number, letter or both.")]),
        option("out", str, ..., "--out", help=where, parser=name_of_place),
        *options_of(Options, leave_out=["task", *_names(TaskOptions), *_names(ModelOptions)]),
        option("track", str | None, None, help="tensorboard, or a module like wandb."),
        option("resume", bool, False, "--resume", help="Continue the run in --out."),
        option("as_json", bool, False, "--json", help="Print the result as JSON."),
        *options_of(TaskOptions, panel="The task"),
        *options_of(ModelOptions, panel="The model"),
        keyword("typer_context", typer.Context),
    ]
    with_parameters(train, "train", parameters, _HELP)
    app.command(
        epilog="Example: [bold]whatwhere train number --out runs/number[/bold]; "
        "after an interruption: [bold]whatwhere train number --out runs/number --resume[/bold]"
    )(train)


def _names(record: type) -> list[str]:
    return [field.name for field in fields(record)]


_HELP = """Train a model on a task, with checkpoints along the way.

Ctrl-C saves and stops; --resume continues with exactly the same result. Options that are not given are the preset's. On
several devices or hosts: torchrun --nproc-per-node 2 -m whatwhere train ..."""


def _train_command(
    options: Options, out_dir: str, track: str | None, repeated: Sequence[str] | None, as_json: bool
) -> None:
    """Trains a new run, or continues one: then ``repeated`` names the options that were given again."""
    from whatwhere.training.distributed import joined, leave
    from whatwhere.training.run import Run

    with joined() as processes:
        if not processes.first:
            leave(_assist(Run(out_dir), processes))
        run = Run(local(out_dir, note))
        start_tracker = find_tracker(track) if track else None
        if repeated is not None:
            _refuse_changes(run, options, repeated, out_dir)
        else:
            run.create(processes.checked(options.config()))
        _train(run, start_tracker, processes)
    _report(run, as_json)


def _refuse_changes(run: Run, options: Options, repeated: Sequence[str], out_dir: str) -> None:
    """Raises an error for options that would change the configuration of a run that continues."""
    config = run.config
    if run.task.name != options.task:
        raise WhatwhereError(f"{out_dir}: expected a run on the {options.task} task, got the {run.task.name} task.")
    as_begun: dict[str, Any] = {"task": options.task, "preset": config.preset, "seed": config.seed}
    for name in repeated:
        value = getattr(options, name)
        asked = Options(**as_begun | {name: value})
        changed = asked.changed(config).to_dict() | {"preset": asked.preset}
        if value == "auto" or name != "device":  # the default device of this machine, not the user's choice
            changed["device"] = config.device
        if changed != config.to_dict():
            raise WhatwhereError(
                f"{out_dir}: expected --{name.replace('_', '-')} as the run was begun, got {value}. Leave it out with "
                "--resume, or train another run in another --out."
            )


def _assist(run: Run, processes: Processes) -> int:
    """Trains as one of several processes, and returns the exit code; the first process prints for all."""
    from whatwhere.training.distributed import ProcessLost
    from whatwhere.training.loop import train as train_run

    try:
        train_run(run, processes=processes)
    except Interrupted:
        return INTERRUPTED
    except ProcessLost:
        return 2
    return 0


def _train(run: Run, start_tracker: Start | None, processes: Processes) -> None:
    """Trains with a progress display; after a stop request the command prints how to continue."""
    from whatwhere.training.loop import train as train_run

    try:
        with _display(run, start_tracker) as observer:
            train_run(run, observer, note, processes)
    except Interrupted as stopped:
        note(
            f"Stopped at step {stopped.step}; everything so far is saved. Continue with: "
            f"whatwhere train {run.task.name} --out {shown(run.directory)} --resume"
        )
        raise typer.Exit(INTERRUPTED) from stopped


@contextmanager
def _display(run: Run, start_tracker: Start | None) -> Iterator[Observer]:
    """A progress bar (without a terminal, a line every half minute), and the tracker if any."""
    config = run.config
    tracker = start_tracker(run.directory, config.to_dict()) if start_tracker else None
    try:
        with Bar() as bar:
            line = bar.add_task(f"training {config.task.name}", total=config.schedule.steps)

            def observe(state: Progress) -> None:
                hops = " ".join(f"{value:.2f}" for value in state.by_hop) or "-"
                text = (
                    f"{config.task.name}: loss {state.loss:.3f}, hops {hops}, "
                    f"{state.sequences_per_second:.0f} seq/s, {state.phase}"
                )
                bar.update(line, completed=state.step, total=state.steps, description=text)
                if state.evaluated and tracker is not None:
                    accuracies = {f"accuracy/hop{hop}": value for hop, value in enumerate(state.by_hop, start=1)}
                    tracker.log({"loss": state.loss, "lr": state.rate, **accuracies}, state.step)

            yield observe
    finally:
        if tracker is not None:
            tracker.finish()


def _report(run: Run, as_json: bool) -> None:
    """Measures the final model on the test split, saves the result with the run and prints it."""
    from whatwhere.training.evaluate import measure_on_test_split

    note("Measuring on the test split ...")
    rows = measure_on_test_split(run)
    seconds, place = run.metrics()[-1]["seconds"], shown(run.directory)
    if as_json:
        print_json({"run": place, "seconds": seconds, "test": [asdict(row) for row in rows]})
        return
    out.print(f"[bold]{place}[/bold]: {rows[0].step} steps, {seconds:.0f} s of training")
    for row in rows:
        hops = f"{row.hop} hop{'s' if row.hop > 1 else ' '}"
        out.print(f"  {hops}  accuracy {row.accuracy:.4f} of {row.sequences} test sequences")
    out.print(f"  next: whatwhere dynamics {place}")
