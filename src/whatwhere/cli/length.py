"""``whatwhere length``: how a trained model fares on longer inputs, and what its margins foretold."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whatwhere.cli import console

if TYPE_CHECKING:
    from whatwhere.studies.length.breaks import BreakRow
    from whatwhere.studies.length.measure import LengthAccuracy, LengthPlan
    from whatwhere.studies.results import Results


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere length letter[/bold], or several models in one figure: "
        "[bold]whatwhere length number --compare letter --compare runs/nope[/bold]"
    )(length)


def length(
    model: Annotated[
        str, typer.Argument(help="A shipped model (number, letter), a run directory or a checkpoint file.")
    ],
    step: Annotated[int | None, typer.Option(help="Which checkpoint of a run; the last by default.")] = None,
    compare: Annotated[
        list[str] | None, typer.Option(help="Another model for the same figure; may be given several times.")
    ] = None,
    inputs: Annotated[
        int,
        typer.Option(help="Sequences at short lengths; at length n above 32 there are 32/n of them, at least 1/16."),
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the sequences and of the intervals.")] = 0,
    lengths: Annotated[
        str | None, typer.Option(help="Lengths to measure, with commas; 17 to 1000 in 13 steps by default.")
    ] = None,
    variations: Annotated[
        bool, typer.Option("--variations/--no-variations", help="Measure interventions at inference, too.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="Where results go, in length/; a run itself, or analysis-NAME, by default.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace results made with other settings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure accuracy against length, and the margins and attention of each hop that foretell where it breaks.

    Tables, figures and settings go to [bold]DIR/length/[/bold] after each length: an interrupted run goes on.
    """
    from whatwhere.studies.length.figures import draw_comparison, draw_length
    from whatwhere.studies.results import analysis_directory

    plan = _plan(inputs, seed, lengths, variations)
    results = _measure(model, step, analysis_directory(model, out), plan, force)
    draw_length(results.directory)
    others = {}
    for other in compare or []:
        others[other] = _measure(other, None, analysis_directory(other, None), plan, force)
        draw_length(others[other].directory)
    if others:
        together = {model: results.directory, **{name: other.directory for name, other in others.items()}}
        draw_comparison(together, results.directory)
    if as_json:
        console.print_json({"models": {model: _result(results), **{name: _result(o) for name, o in others.items()}}})
        return
    for name, measured in {model: results, **others}.items():
        _print(name, measured)


def _plan(inputs: int, seed: int, lengths: str | None, variations: bool) -> LengthPlan:
    from whatwhere.errors import WhatwhereError
    from whatwhere.studies.length.measure import LengthPlan

    if lengths is None:
        return LengthPlan(inputs=inputs, seed=seed, variations=variations)
    try:
        chosen = tuple(sorted({int(word) for word in lengths.split(",")}))
    except ValueError as error:
        raise WhatwhereError(
            f"--lengths expects whole numbers with commas between them, such as 17,65,850, and {lengths!r} arrived."
        ) from error
    return LengthPlan(inputs=inputs, seed=seed, lengths=chosen, varied_lengths=chosen, variations=variations)


def _measure(model: str, step: int | None, directory: Path, plan: LengthPlan, force: bool) -> Results:
    from whatwhere.studies.length.measure import measure_length
    from whatwhere.studies.results import task_of
    from whatwhere.zoo.load import load

    loaded = load(model, step)
    with console.progress() as bar:
        shown = bar.add_task(model, total=None)

        def observe(what: str, done: int, total: int) -> None:
            bar.update(shown, description=f"{model}: {what} (tokens)", completed=done, total=total)

        try:
            return measure_length(loaded, task_of(loaded, model), directory, plan, force=force, observer=observe)
        except KeyboardInterrupt:
            bar.stop()
            console.note(f"stopped; what was measured is in {directory / 'length'}, and the same command goes on.")
            raise typer.Exit(130) from None


def _result(results: Results) -> dict[str, object]:
    from whatwhere.studies.length.breaks import BreakRow
    from whatwhere.studies.length.hop_tables import ChainRow, HopRow
    from whatwhere.studies.length.measure import LengthAccuracy

    kinds = {"accuracy": LengthAccuracy, "hops": HopRow, "chain": ChainRow, "breaks": BreakRow}
    tables = {
        name: [asdict(row) for row in results.read(name, kind)] for name, kind in kinds.items() if results.has(name)
    }
    return {"directory": str(results.directory), "settings": results.settings(), **tables}


def _print(model: str, results: Results) -> None:
    from whatwhere.studies.length.measure import LengthAccuracy
    from whatwhere.studies.length.variations import Variation

    rows = results.read("accuracy", LengthAccuracy)
    plain = Variation().name
    hops = sorted({row.hop for row in rows if row.hop})
    console.out.print(f"Length generalisation of {model}: {results.directory}", markup=False, soft_wrap=True)
    table = console.table("length", *(f"{hop} hop{'s' * (hop > 1)}" for hop in hops), "mean", "95 %", "inputs")
    for n in sorted({row.length for row in rows if row.variation == plain}):
        here = {row.hop: row for row in rows if row.variation == plain and row.length == n}
        mean = here[0]
        table.add_row(
            str(n), *(f"{here[hop].accuracy:.3f}" for hop in hops), f"{mean.accuracy:.3f}",
            f"{mean.low:.3f}-{mean.high:.3f}", str(mean.inputs),
        )  # fmt: skip
    console.out.print(table)
    _print_breaks(results)
    changed = [row for row in rows if row.hop == 0 and row.variation != plain]
    if changed:
        console.out.print("\nMean accuracy with a change at inference")
        lengths = sorted({row.length for row in changed})
        table = console.table("", *map(str, lengths), left=("",))
        for name in dict.fromkeys(row.variation for row in changed):
            here = {row.length: row for row in changed if row.variation == name}
            table.add_row(name, *(_with_width(here[n]) if n in here else "" for n in lengths))
        console.out.print(table)


def _with_width(row: LengthAccuracy) -> str:
    """A share and half the width of its interval, short enough for six columns."""
    return f"{row.accuracy:.2f}±{f'{(row.high - row.low) / 2:.2f}'.removeprefix('0')}"


def _print_breaks(results: Results) -> None:
    from whatwhere.studies.length.breaks import BreakRow
    from whatwhere.studies.length.hop_tables import WORKING

    rows = [row for row in results.read("breaks", BreakRow) if row.hop == 0]
    console.out.print("\nLengths at which fewer than 0.9 or half of the inputs are right")
    table = console.table("", "0.9", "0.5", "95 %", "foretold", "margin", "foretold", left=("",))
    for what, first, half in ((row.what, row, after) for row, after in pairwise(rows)):
        if half.threshold != 0.5 or first.source != "measured" or what not in ("accuracy", "chain mass", "mass"):
            continue
        margin = what.replace("mass", "margin")
        beside = [(what, "foretold"), (margin, "measured"), (margin, "foretold")] if what != "accuracy" else []
        cells = [
            next((_length(row) for row in rows if (row.what, row.source, row.place) == (*at, half.place)
                  and row.threshold == 0.5), "")
            for at in beside
        ]  # fmt: skip
        hop = f"layer {half.layer}.{half.head}, {half.to_go} to go, jump {half.jump}"
        name = {"accuracy": "accuracy", "chain mass": "all hops hold"}.get(what, hop)
        ends = f"{_length(half, half.low)}-{_length(half, half.high)}"
        table.add_row(name, _length(first), _length(half), ends, *cells)
    console.out.print(table)
    console.remark(
        "A hop holds if more than half of the attention is on its right key; margin: if that key leads. All hops: "
        f"those that heads do at the training length (mean attention {WORKING} or more). foretold: below one half, "
        "from inputs of the training length alone. Hop classes and intervals: breaks.csv."
    )


def _length(row: BreakRow, length: float | None = None) -> str:
    shown = row.length if length is None else length
    return f">{row.longest}" if math.isinf(shown) else f"{shown:.0f}"
