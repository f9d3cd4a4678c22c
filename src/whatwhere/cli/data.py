"""``whatwhere data``: the balanced dataset of a task on disk, and sequences drawn in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli.console import note, out, print_json
from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from whatwhere.tasks.batch import Batch
    from whatwhere.tasks.dataset import Dataset
    from whatwhere.tasks.shortcuts import Shortcut
    from whatwhere.tasks.task import Task


def _parameter(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="The task's parameters, with the paper's values")


def data(
    task: Annotated[str, typer.Argument(help="number or letter.")],
    to: Annotated[Path | None, typer.Option("--out", help="Directory for splits, manifest and shortcuts.")] = None,
    size: Annotated[int, typer.Option(help="Sequences: 90 % to train, 0.5 % to validate, the rest to test.")] = 480_000,
    seed: Annotated[int, typer.Option(help="Same seed, same sequences.")] = 0,
    show: Annotated[int, typer.Option(min=0, help="Draw this many sequences.")] = 0,
    hops: Annotated[int | None, typer.Option(help="Draw this hop class only; all in turn by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    target: Annotated[int | None, _parameter("Tokens of the target window (8).")] = None,
    context: Annotated[int | None, _parameter("Tokens of the pre-target window, without the query (8).")] = None,
    max_hops: Annotated[int | None, _parameter("The highest hop class (4).")] = None,
    integers: Annotated[int | None, _parameter("Integers (number task 16, letter task 8).")] = None,
    symbols: Annotated[int | None, _parameter("Number task: the alphabet (120).")] = None,
    distractors: Annotated[str | None, _parameter("Number task: in-range (default) or any, off the path.")] = None,
    letters: Annotated[int | None, _parameter("Letter task: the alphabet (8).")] = None,
    generator: Annotated[str | None, _parameter("Letter task: decoy (default) or strict.")] = None,
) -> None:
    """Makes the balanced data of a task, or draws some of its sequences.

    Example: [bold]whatwhere data letter --show 2 --hops 4[/bold]
    """
    from whatwhere.tasks import make_task

    parameters = {
        "target": target,
        "context": context,
        "max_hops": max_hops,
        "integers": integers,
        "symbols": symbols,
        "distractors": distractors,
        "letters": letters,
        "generator": generator,
    }
    chosen = make_task(task, **{name: value for name, value in parameters.items() if value is not None})
    if to is None and not show:
        raise WhatwhereError("nothing to do: give --out DIR to write the data, or --show N to draw N sequences.")
    if hops is not None and not show:
        raise WhatwhereError("--hops chooses what --show draws, and --show is missing; a dataset holds every class.")
    result: dict[str, Any] = {}
    if show:
        batch = chosen.sample(show, hops=hops, seed=seed)
        result["shown"] = _sequences(chosen, batch)
        if not json:
            _draw(chosen, batch)
    if to is not None:
        result |= _write(chosen, size, seed, to, quiet=json)
    if json:
        print_json(result)


def _sequences(task: Task, batch: Batch) -> list[dict[str, Any]]:
    return [
        {
            "tokens": task.decode(batch.tokens[row]),
            "answer": task.decode(batch.answers[row : row + 1]),
            "hops": int(batch.hops[row]),
            "path": [int(position) for position in batch.paths[row] if position >= 0],
        }
        for row in range(len(batch))
    ]


def _draw(task: Task, batch: Batch) -> None:
    from whatwhere.tasks.picture import draw

    for row in range(len(batch)):
        out.print(draw(task, batch, row, out.width), soft_wrap=True)


def _write(task: Task, size: int, seed: int, to: Path, *, quiet: bool) -> dict[str, Any]:
    from whatwhere.store.storage import read_json
    from whatwhere.tasks.shortcuts import shortcuts, write_shortcuts

    dataset = task.dataset(size, seed)
    manifest = dataset.manifest()
    if (to / "manifest.json").exists():
        there = read_json(to / "manifest.json", "the dataset's manifest")
        if there.get("sha256") != manifest["sha256"]:
            raise WhatwhereError(f"{to} already holds another dataset. Choose another place, or remove it first.")
    dataset.save(to)
    found = shortcuts(task, dataset.test)
    write_shortcuts(to / "shortcuts.csv", found)
    if not quiet:
        _report(dataset, found)
        note(f"Written to {to}: {', '.join(sorted(path.name for path in to.iterdir()))}.")
    rules = [{"rule": each.rule, "hopping": each.hopping, "accuracy": list(each.accuracy)} for each in found]
    return {"directory": str(to), **manifest, "shortcuts": rules}


def _report(dataset: Dataset, found: list[Shortcut]) -> None:
    from rich.table import Table

    from whatwhere.tasks.dataset import hop_counts

    classes = [str(hop) for hop in range(1, dataset.task.max_hops + 1)]
    counts = Table("sequences", title=f"{dataset.task.name} task, seed {dataset.seed}", title_justify="left", box=None)
    rules = Table("guess the answer as ...", title="Without the path, on the test set", title_justify="left", box=None)
    for table in (counts, rules):
        for hop in classes:
            table.add_column(f"{hop} hop{'s' if hop != '1' else ''}", justify="right")
    for name, split in dataset.splits().items():
        counts.add_row(name, *(f"{count:,}" for count in hop_counts(dataset.task, split).values()))
    for each in found:
        mark = " *" if each.hopping else ""
        rules.add_row(each.rule + mark, *(f"{accuracy:.2f}" for accuracy in each.accuracy))
    out.print(counts)
    out.print()
    out.print(rules)
    out.print("* follows pointers, though not along the whole path of the query", style="dim")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(data)
