"""``whatwhere data``: saves the balanced data of a task, measures shortcuts, draws sequences in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli.console import note, out, print_json, remark, table
from whatwhere.cli.parameters import AsJson, keyword, option, options_of, place, record_of, with_parameters
from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import read_json
from whatwhere.store.files import TEMPORARY_SUFFIX, write_bytes
from whatwhere.store.tables import write_csv
from whatwhere.tasks.task_options import TaskOptions

if TYPE_CHECKING:
    import pandas as pd

    from whatwhere.tasks.batch import Batch
    from whatwhere.tasks.dataset import Dataset
    from whatwhere.tasks.task import Task

MEASURED = 40_000
"""Sequences on which ``--shortcuts`` measures."""
_FILES = ("train.safetensors", "validation.safetensors", "test.safetensors")
"""What a killed command may have left."""


@dataclass(frozen=True)
class DataOptions:
    """What to do with it."""

    size: Annotated[int, "Sequences: 90 % to train, 0.5 % to validate, the rest to test."] = 480_000
    seed: Annotated[int, "Same seed, same sequences."] = 0
    show: Annotated[int, "Draw this many sequences."] = 0
    hops: Annotated[int | None, "Draw this hop class only; all in turn by default."] = None
    shortcuts: Annotated[bool, "Measure rules that guess the answer without the path."] = False


def register(app: typer.Typer) -> None:
    """Adds the command: the fields of both records are its options."""

    def data(**given: Any) -> None:
        chosen = TaskOptions(**record_of(TaskOptions, given)).make(given["task"])
        _data(chosen, DataOptions(**record_of(DataOptions, given)), given["out"], given["as_json"])

    parameters = [
        keyword("task", Annotated[str, typer.Argument(help="number, letter or both.")]),
        option("out", Path | None, None, help="Directory for splits, manifest and shortcuts.", parser=place),
        *options_of(DataOptions),
        *options_of(TaskOptions),
        keyword("as_json", AsJson, False),
    ]
    with_parameters(
        data, "data", parameters, "Make the balanced data of a task, measure what they leak, or draw some sequences."
    )
    app.command(
        epilog="Example: [bold]whatwhere data letter --show 2 --hops 4[/bold]; what leaks: "
        "[bold]whatwhere data letter --generator decoy --shortcuts[/bold]"
    )(data)


def _data(task: Task, options: DataOptions, to: Path | None, as_json: bool) -> None:
    if options.show < 0:
        raise WhatwhereError(f"--show: expected 0 or more, got {options.show}.")
    if to is None and not options.show and not options.shortcuts:
        raise WhatwhereError(
            "nothing to do: give --out DIR to write the data, --shortcuts to measure what they leak, or --show N to "
            "draw N sequences."
        )
    if options.hops is not None and not options.show:
        raise WhatwhereError("--hops chooses what --show draws, and --show is missing; a data set holds every class.")
    result: dict[str, Any] = {}
    if options.show:
        batch = task.sample(options.show, hops=options.hops, seed=options.seed)
        result["shown"] = _show(task, batch, quiet=as_json)
    if to is not None:
        result |= _write(task, options.size, options.seed, to, quiet=as_json)
    elif options.shortcuts:
        count = min(MEASURED, max(task.max_hops, 2**22 // task.length))  # fewer if they are long
        result["shortcuts"] = _measure(task, task.sample(count, seed=options.seed), quiet=as_json).to_dict("records")
    if as_json:
        print_json(result)


def _show(task: Task, batch: Batch, *, quiet: bool) -> list[dict[str, Any]]:
    from whatwhere.tasks.picture import draw

    if quiet:
        paths = [[int(position) for position in path if position >= 0] for path in batch.paths]
        return batch.to_frame().assign(path=paths).to_dict("records")
    for row in range(len(batch)):
        out.print(draw(task, batch, row, out.width), soft_wrap=True)
    return []


def _write(task: Task, size: int, seed: int, to: Path, *, quiet: bool) -> dict[str, Any]:
    from whatwhere.tasks.dataset import MANIFEST

    dataset = task.dataset(size, seed)
    manifest = dataset.manifest()
    if (to / "manifest.json").exists():
        there = read_json(to / "manifest.json", MANIFEST)
        if there.get("sha256") != manifest["sha256"]:
            raise WhatwhereError(f"{to} already holds another data set. Choose another place, or remove it first.")
    elif to.is_dir() and any(path.name not in _FILES and path.suffix != TEMPORARY_SUFFIX for path in to.iterdir()):
        raise WhatwhereError(f"{to} exists and holds something else; choose a new directory for the data.")
    dataset.save(to)
    shared = dataset.shared()
    if not quiet:
        _counts(dataset, shared)
    found = _measure(task, dataset.test, quiet=quiet)
    write_bytes(to / "shortcuts.csv", write_csv(found))
    if not quiet:
        note(f"Written to {to}: {', '.join(sorted(path.name for path in to.iterdir()))}.")
    return {"directory": str(to), **manifest, "shared": shared, "shortcuts": found.to_dict("records")}


def _counts(dataset: Dataset, shared: int) -> None:
    from whatwhere.tasks.dataset import hop_counts

    counts = table("sequences", *_classes(dataset.task), left=["sequences"])
    for name, split in dataset.splits().items():
        counts.add_row(name, *(f"{count:,}" for count in hop_counts(dataset.task, split).values()))
    out.print(counts)
    remark(f"{dataset.task.name} task, seed {dataset.seed}; test sequences that also occur in training: {shared:,}\n")


def _measure(task: Task, batch: Batch, *, quiet: bool) -> pd.DataFrame:
    from whatwhere.tasks.shortcuts import shortcuts

    found = shortcuts(task, batch)
    if not quiet:
        rules = table("guess the answer as ...", *_classes(task), left=["guess the answer as ..."])
        for rule, rows in found.groupby("rule", sort=False):
            mark = " *" if bool(rows["hopping"].iloc[0]) else ""
            rules.add_row(f"{rule}{mark}", *(f"{accuracy:.2f}" for accuracy in rows["accuracy"]))
        out.print(rules)
        remark(f"* follows pointers, but not the query's path; accuracy on {len(batch):,} sequences")
    return found


def _classes(task: Task) -> list[str]:
    return [f"{hop} hop{'s' if hop > 1 else ''}" for hop in range(1, task.max_hops + 1)]
