"""``whatwhere score``: the scores of every checkpoint of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console

if TYPE_CHECKING:
    from whatwhere.studies.dynamics.history import ScoreHistory
    from whatwhere.training.run import Run


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere score runs/number[/bold], or beside a training run: "
        "[bold]whatwhere score runs/number --follow[/bold]"
    )(score)


def score(
    run: Annotated[Path, typer.Argument(help="A run directory, as `whatwhere train` makes it.")],
    inputs: Annotated[int, typer.Option(help="Sequences to score on, equally many of each hop count.")] = 512,
    seed: Annotated[int, typer.Option(help="Seed of the sequences.")] = 0,
    tau: Annotated[float, typer.Option(help="Temperature of the swap weights; stored with the scores.")] = 0.01,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further checkpoints until the run ends.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Score anew, replacing scores made with other settings.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Score every checkpoint of a run, positional and symbolic, into [bold]RUN/scores.csv[/bold].

    What is scored already is skipped, so the command can be interrupted and repeated at will.
    """
    from whatwhere.studies.dynamics.checkpoints import score_run
    from whatwhere.studies.dynamics.history import Settings
    from whatwhere.training.run import Run

    opened = Run(run)
    with console.progress() as bar:
        shown = bar.add_task("checkpoints scored", total=None)

        def observe(step: int, done: int, total: int) -> None:
            bar.update(shown, description=f"step {step} scored", completed=done, total=total)

        try:
            history = score_run(opened, Settings(tau, inputs, seed), force=force, follow=follow, observer=observe)
        except KeyboardInterrupt:
            bar.stop()
            console.note(f"stopped; the scores so far are in {opened.scores_path}, and the same command goes on.")
            raise typer.Exit(0 if follow else 130) from None
    result = _result(opened, history)
    if as_json:
        console.print_json(result)
    else:
        _print(result)


def _result(run: Run, history: ScoreHistory) -> dict[str, Any]:
    """What the run's heads became, and when."""
    from dataclasses import asdict

    from whatwhere.heads.purity import GAMMAS, KINDS, purity, step_of_maximal_accuracy

    known = run.metrics_path.exists()
    return {
        "scores": str(run.scores_path),
        "checkpoints": len(history.steps),
        "settings": asdict(history.settings),
        "step_of_maximal_accuracy": step_of_maximal_accuracy(run.metrics()) if known else float("nan"),
        "pure": [
            {
                "gamma": gamma,
                "kind": kind,
                "heads": [
                    {"step": step, "layer": layer, "head": head}
                    for step, layer, head in purity(history.steps, history.positional, history.symbolic, gamma).joined(
                        kind
                    )
                ],
            }
            for gamma in GAMMAS
            for kind in KINDS
        ],
    }


def _print(result: dict[str, Any]) -> None:
    from rich.table import Table

    settings = result["settings"]
    console.out.print(
        f"{result['checkpoints']} checkpoints scored at tau {settings['tau']:g} on {settings['inputs']} inputs: "
        f"{result['scores']}",
        soft_wrap=True,
        markup=False,
    )
    best = result["step_of_maximal_accuracy"]
    if best == best:
        console.out.print(f"Accuracy is maximal from step {best:g} on.")
    table = Table("gamma", "kind", "pure", "heads, as layer.head, with the step from which each stayed pure")
    for entry in result["pure"]:
        heads = ", ".join(f"{head['layer']}.{head['head']} ({head['step']})" for head in entry["heads"])
        table.add_row(f"{entry['gamma']:g}", entry["kind"], str(len(entry["heads"])), heads or "none")
    console.out.print(table)
