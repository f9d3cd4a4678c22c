"""``whatwhere geometry``: which rotary planes a trained model uses, and what its keys and queries look like there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whatwhere.cli import console

if TYPE_CHECKING:
    from whatwhere.studies.results import Results


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere geometry number[/bold], or a run: [bold]whatwhere geometry runs/number[/bold]"
    )(geometry)


def geometry(
    model: Annotated[
        str, typer.Argument(help="A shipped model (number, letter), a run directory or a checkpoint file.")
    ],
    step: Annotated[int | None, typer.Option(help="Which checkpoint of a run; the last by default.")] = None,
    inputs: Annotated[int, typer.Option(help="Sequences, equally many of each hop count.")] = 512,
    seed: Annotated[int, typer.Option(help="Seed of the sequences and of the intervals.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Where results go, in geometry/; a run itself, or analysis-NAME, by default.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace results made with other settings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show which frequencies each layer uses, how keys and queries stand there, and what closing frequencies does.

    Tables, figures and settings go to [bold]DIR/geometry/[/bold]; what is there already is not measured again.
    """
    from whatwhere.studies.geometry.figures import draw_geometry
    from whatwhere.studies.geometry.measure import measure_geometry, steps_of
    from whatwhere.studies.results import analysis_directory, task_of
    from whatwhere.zoo.load import load

    loaded = load(model, step)
    task = task_of(loaded, model)
    with console.progress() as bar:
        shown = bar.add_task("frequencies", total=steps_of(loaded, task))
        results = measure_geometry(
            loaded, task, analysis_directory(model, out), inputs=inputs, seed=seed, force=force,
            observer=lambda: bar.advance(shown),
        )  # fmt: skip
        bar.update(shown, completed=steps_of(loaded, task))
    draw_geometry(results.directory)
    if as_json:
        console.print_json(_result(results))
    else:
        _print(model, results)


def _result(results: Results) -> dict[str, object]:
    from whatwhere.studies.geometry.frequency_gating import GatedAccuracy
    from whatwhere.studies.geometry.measure import FrequencyRow
    from whatwhere.studies.geometry.planes import KeyAlignment, LetterMatching, QueryTurn

    kinds = {
        "table": FrequencyRow, "keys": KeyAlignment, "queries": QueryTurn, "matching": LetterMatching,
        "gating": GatedAccuracy,
    }  # fmt: skip
    tables = {
        name: [asdict(row) for row in results.read(name, kind)] for name, kind in kinds.items() if results.has(name)
    }
    return {"directory": str(results.directory), "settings": results.settings(), **tables}


def _print(model: str, results: Results) -> None:
    settings = results.settings()
    console.out.print(
        f"Frequencies of {model} on {settings['inputs']} inputs of the {settings['task']['name']} task: "
        f"{results.directory}",
        markup=False,
        soft_wrap=True,
    )
    _print_frequencies(results)
    _print_planes(results)
    _print_gating(results)


def _print_frequencies(results: Results) -> None:
    from whatwhere.studies.geometry.measure import FrequencyRow

    rows = results.read("table", FrequencyRow)
    by_measure = {
        measure: [row for row in rows if row.measure == measure] for measure in ("variance", "norm", "margin")
    }
    table = console.table("layer", "head", "ID", "95 %", "frequency", "paper", "dominant", "share", "W1", "W3")
    for row, norm, margin in zip(*by_measure.values(), strict=True):
        table.add_row(
            str(row.layer), str(row.head), f"{row.weighted_id:.0f}", f"{row.low:.1f}-{row.high:.1f}",
            f"{row.frequency:.4f}", str(row.paper_id or ""), str(row.dominant), f"{row.dominant_weight:.2f}",
            f"{norm.weighted_id:.0f}", f"{margin.weighted_id:.0f}",
        )  # fmt: skip
    console.out.print(table)
    console.remark(
        "ID: mean frequency ID (1 is the fastest), weighted by each plane's share of the logits' variance (W2). "
        "W1, W3: weighted by norm and by margin. dominant: the plane with the largest share."
    )


def _print_planes(results: Results) -> None:
    from whatwhere.studies.geometry.planes import KeyAlignment, LetterMatching, QueryTurn, clearest_turns

    keys = {(row.layer, row.head, row.keys): row for row in results.read("keys", KeyAlignment)}
    if results.has("queries"):
        console.out.print("\nIndex geometry in the dominant plane")
        table = console.table(
            "layer", "ID", "target", "pointers", "integers", "slope", "95 %", "theory", "R2", "agree", "aims at"
        )
        for row in clearest_turns(results.read("queries", QueryTurn)):
            table.add_row(
                str(row.layer), str(row.plane),
                *(f"{keys[row.layer, row.head, of].alignment:.2f}" for of in ("target", "pointers")), row.integers,
                f"{row.slope:.2f}", f"{row.slope_low:.2f} {row.slope_high:.2f}", f"{row.predicted:.2f}",
                f"{row.r2:.2f}", f"{row.agreement:.2f}", "target" if row.aim_target > row.aim_pointers else "pointers",
            )  # fmt: skip
        console.out.print(table)
        console.remark(
            "target, pointers: alignment of these keys (1: all point the same way). slope: of the query's angle per "
            "integer; theory: -frequency. agree: 1 if queries turn as in T_Index. Of each layer the range of integers "
            "that agrees best; all are in queries.csv."
        )
    if results.has("matching"):
        console.out.print("\nRetrieval geometry in the dominant plane")
        table = console.table("layer", "ID", "keys aligned", "queries match keys", "95 %")
        for row in results.read("matching", LetterMatching):
            table.add_row(
                str(row.layer), str(row.plane), f"{keys[row.layer, row.head, 'all'].alignment:.2f}",
                f"{row.matching:.2f}", f"{row.low:.2f} {row.high:.2f}",
            )  # fmt: skip
        console.out.print(table)
        console.remark("match: cosine between the queries for a letter and its keys, less that for other letters.")


def _print_gating(results: Results) -> None:
    from whatwhere.studies.geometry.frequency_gating import GatedAccuracy

    rows = results.read("gating", GatedAccuracy)
    hops = sorted({row.hop for row in rows if row.hop})
    console.out.print("\nAccuracy with frequencies closed")
    table = console.table("", "layers", *(f"{hop} hop{'s' * (hop > 1)}" for hop in hops), "mean", "95 %", left=("",))
    for name in dict.fromkeys(row.variation for row in rows if not row.variation[0].isdigit()):
        here = {row.hop: row for row in rows if row.variation == name}
        mean = here[0]
        what = name.split(" in ")[0] + (f" ({mean.first}-{mean.last})" if mean.first and "only" not in name else "")
        table.add_row(
            what, mean.layers, *(f"{here[hop].accuracy:.2f}" for hop in hops), f"{mean.accuracy:.3f}",
            f"{mean.low:.3f}-{mean.high:.3f}",
        )  # fmt: skip
    console.out.print(table)
    console.remark(
        "In brackets: the closed IDs. fast: a whole turn or more within the training length; slow: below 1/20 of one."
    )
    sliding = [row for row in rows if row.variation[0].isdigit() and row.hop == 0]
    if sliding:
        worst = min(sliding, key=lambda row: row.accuracy)
        console.out.print(
            f"A band of {worst.closed} neighbouring IDs closed in all layers leaves accuracy at "
            f"{worst.accuracy:.3f} ({worst.low:.3f}-{worst.high:.3f}, {worst.inputs} inputs) or above, "
            f"lowest for {worst.first}-{worst.last}."
        )
