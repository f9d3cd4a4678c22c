"""``whatwhere mechanism``: what the heads of a trained model do, and whether it matters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whatwhere.cli import console


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere mechanism number[/bold], or with an input of your own: "
        '[bold]whatwhere mechanism number --input "c h n a b 5 3 2 2"[/bold]'
    )(mechanism)


def mechanism(
    model: Annotated[
        str, typer.Argument(help="A shipped model (number, letter), a run directory or a checkpoint file.")
    ],
    inputs: Annotated[int, typer.Option(help="Sequences to count on, equally many of each hop count.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the sequences.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Where results go; the run itself, or analysis-NAME here, by default.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--input", help="The input whose information flow is drawn, spaces between tokens.")
    ] = None,
    hops: Annotated[int | None, typer.Option(help="Hops of the input that is drawn, if none is given.")] = None,
    step: Annotated[int | None, typer.Option(help="Which checkpoint of a run; the last by default.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace results made with other settings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show how a model solves its task: who looks where, when the answer arrives, and what ablation says of it.

    Tables, Figure 3 and an overview go to [bold]OUT/mechanism[/bold]; examples for the page to
    [bold]OUT/examples[/bold].
    """
    from whatwhere.studies.mechanism.examples import measure_examples
    from whatwhere.studies.mechanism.figures import draw, read_tables
    from whatwhere.studies.mechanism.measure import choose_input, measure
    from whatwhere.studies.mechanism.summary import summary
    from whatwhere.studies.results import Results, analysis_directory, fingerprint, task_of
    from whatwhere.zoo.load import load

    loaded = load(model, step)
    shown = choose_input(loaded, text, hops, seed)
    directory = analysis_directory(model, out)
    results = Results(directory / "mechanism")
    results.begin({"model": fingerprint(loaded), "inputs": inputs, "seed": seed}, force=force)
    with console.progress() as bar:
        task = bar.add_task("mechanism", total=None)
        measure(
            loaded,
            results,
            inputs=inputs,
            seed=seed,
            shown=shown,
            progress=lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
        )
        measure_examples(loaded, task_of(loaded, model), directory, seed=seed, force=force)
    with console.err.status("drawing"):
        files = draw(results.directory)
    tables = read_tables(results.directory)
    if as_json:
        from dataclasses import asdict

        console.print_json({**asdict(tables), "files": [str(file) for file in files]})
        return
    console.out.print(summary(tables), markup=False, soft_wrap=True)
    console.note(f"tables and figures: {results.directory}")
