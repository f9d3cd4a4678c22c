"""``whatwhere heads``: what each head of one model does."""

from __future__ import annotations

from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console, heads_text
from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from whatwhere.heads.scores import HeadScores
    from whatwhere.heads.summary import HeadSummary, WindowScores
    from whatwhere.model.gptj import GPTJ
    from whatwhere.tasks.task import Task


INPUTS = 512
"""Sequences of a task, by default."""
WINDOWS = 8
"""Windows of a text, by default."""


class SwapLevel(StrEnum):
    """The choices of ``--level``."""

    keys = "keys"
    tokens = "tokens"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example: [bold]whatwhere heads number[/bold], one checkpoint of a run: "
        "[bold]whatwhere heads runs/number --step 500 --taus[/bold], or a language model: "
        "[bold]whatwhere heads HuggingFaceTB/SmolLM2-135M --text notes.txt --page heads.html[/bold]"
    )(heads)


def heads(
    model: Annotated[
        str,
        typer.Argument(
            help="A shipped model (number, letter), a run directory or a checkpoint file; or, with --text, a "
            "transformers model with rotary positions: a directory, a hub name or a GGUF file."
        ),
    ],
    text: Annotated[Path | None, typer.Option(help="Score a language model on this text file.")] = None,
    step: Annotated[int | None, typer.Option(help="Which checkpoint of a run; the last by default.")] = None,
    task: Annotated[
        str | None, typer.Option(help="The task to score on, if the model does not say: number or letter.")
    ] = None,
    inputs: Annotated[
        int | None,
        typer.Option(
            help="Sequences to score on, equally many of each hop count (512); of a text, windows at most (8).",
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[int, typer.Option(help="Of a text: tokens of each window.")] = 256,
    queries: Annotated[
        str, typer.Option(help="Of a text: query positions of each window, how many or 'last' or 'all'.")
    ] = "8",
    only: Annotated[
        str | None, typer.Option(help="Of a text: only these layers and heads, as 3,5.2,7-9.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sequences and of the intervals.")] = 0,
    tau: Annotated[float, typer.Option(help="Temperature of the swap weights.")] = 0.01,
    gamma: Annotated[float, typer.Option(help="Tolerance within which a head is called pure.")] = 0.1,
    level: Annotated[
        SwapLevel, typer.Option(help="Swap keys (the paper), or tokens and run the model again.")
    ] = SwapLevel.keys,
    windows: Annotated[
        bool, typer.Option("--windows", help="Score swaps within the target and the pre-target window alone, too.")
    ] = False,
    taus: Annotated[bool, typer.Option("--taus", help="Show how the scores depend on tau, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the table to this CSV file, too.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Of a text: write a page to look through the heads to this HTML file, too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show what each head of a model does: look at where a token stands, at what it is, or neither."""
    if text is not None and not _is_ours(model):
        heads_text.refuse_task_options(
            step=step is not None, task=task, level=level is not SwapLevel.keys, windows=windows, taus=taus
        )
        found = heads_text.heads_on_text(
            model, text, tokens=tokens, windows=inputs or WINDOWS, queries=queries, only=only, tau=tau, gamma=gamma,
            seed=seed, page=page,
        )  # fmt: skip
        if out is not None:
            found.write(out)
        (heads_text.print_json if as_json else heads_text.print_summary)(found)
        return
    if text is not None:
        raise WhatwhereError(f"{model} is a model of whatwhere and knows its task's tokens only; leave out --text.")
    if heads_text.is_language_model(model) and not _is_ours(model):
        raise WhatwhereError(f"{model} looks like a language model: say on which text, with --text FILE.")
    if page is not None:
        raise WhatwhereError("--page belongs to a language model on a text; for runs there is: whatwhere report RUN")
    from whatwhere.heads.weighting import TAUS
    from whatwhere.heads.summary import score_windows, summarise, tau_sensitivity
    from whatwhere.zoo.load import load

    inputs = INPUTS if inputs is None else inputs
    loaded = load(model, step)
    chosen = _task(loaded, task)
    sequences = chosen.sample(inputs, seed=seed).tokens
    with console.err.status("scoring"):
        rows = summarise(loaded, sequences, tau, level=level.value, gamma=gamma, seed=seed)
        sensitivity = tau_sensitivity(loaded, sequences, TAUS, level=level.value) if taus else []
        within = score_windows(loaded, sequences, chosen.windows, tau) if windows else []
    settings: dict[str, Any] = {
        "model": model, "step": step, "task": chosen.name, "inputs": inputs, "seed": seed,
        "tau": tau, "gamma": gamma, "level": level.value,
    }  # fmt: skip
    if out is not None:
        _write(out, rows, settings)
    if as_json:
        listed = [
            {"tau": scores.tau, "positional": scores.positional.tolist(), "symbolic": scores.symbolic.tolist()}
            for scores in sensitivity
        ]
        console.print_json(
            {
                **settings,
                "heads": [asdict(row) for row in rows],
                "windows": [asdict(row) for row in within],
                "taus": listed,
            }
        )
        return
    _print(rows, settings)
    if within:
        _print_windows(within)
    if sensitivity:
        _print_sensitivity(sensitivity)


def _is_ours(model: str) -> bool:
    """Whether a name means a shipped model, a run or a checkpoint."""
    from whatwhere.training.run import Run
    from whatwhere.zoo.load import SHIPPED

    path = Path(model)
    if path.is_dir() and Run(path).exists:
        return not heads_text.is_language_model(model)
    return (model in SHIPPED and not path.exists()) or (path.is_file() and path.suffix == ".safetensors")


def _task(model: GPTJ, name: str | None) -> Task:
    """The task that a model is scored on: the named one, or its own."""
    from whatwhere.tasks import make_task

    if name is not None:
        return make_task(name)
    if model.task is None:
        raise WhatwhereError("this model does not say which task it was trained on; name it with --task number|letter.")
    return model.task


def _write(path: Path, rows: list[HeadSummary], settings: dict[str, Any]) -> None:
    from whatwhere.heads.summary import HeadSummary
    from whatwhere.store.storage import write_csv

    columns = [field.name for field in fields(HeadSummary)]
    kept = ["task", "inputs", "seed", "tau", "gamma", "level"]
    cells = [[*(getattr(row, name) for name in columns), *(settings[name] for name in kept)] for row in rows]
    write_csv(path, columns + kept, cells)


def _print(rows: list[HeadSummary], settings: dict[str, Any]) -> None:
    console.out.print(
        f"Heads of {settings['model']} on {settings['inputs']} inputs of the {settings['task']} task, "
        f"tau {settings['tau']:g}",
        markup=False,
    )
    table = console.table(
        "layer", "head", "positional", "symbolic", "entropy", "/log n", "itself", "label", left=["label"]
    )
    for row in rows:
        table.add_row(
            str(row.layer),
            str(row.head),
            f"{row.positional:.2f} ({row.positional_low:.2f}-{row.positional_high:.2f})",
            f"{row.symbolic:.2f} ({row.symbolic_low:.2f}-{row.symbolic_high:.2f})",
            f"{row.entropy:.2f}",
            f"{row.entropy_share:.2f}",
            f"{row.own:.2f}",
            f"{row.label}{'*' if row.self_attending else ''}",
        )
    console.out.print(table)
    console.remark(
        f"positional, symbolic: pure within gamma {settings['gamma']:g}; uniform: both scores high; mixed: the rest. "
        "In brackets: 95 % intervals (bootstrap over inputs)."
    )
    reflexive = [row for row in rows if row.self_attending]
    if reflexive:
        again = "; ".join(
            f"{row.layer}.{row.head} {row.renormalised_positional:.2f} {row.renormalised_symbolic:.2f}"
            for row in reflexive
        )
        console.remark(
            "* attends mostly to itself, so its scores speak of keys that it hardly looks at. Renormalised without its "
            f"own position (layer.head positional symbolic; not the paper's score): {again}."
        )
    if settings["level"] == "tokens":
        console.remark(
            "Tokens were swapped and the model run again; only at layer 0 is this the score of the head alone."
        )


def _print_windows(within: list[WindowScores]) -> None:
    console.out.print("\nSwaps within one window, weighed by attention within it")
    table = console.table("layer", "head", "window", "attention", "positional", "symbolic")
    for row in within:
        numbers = (f"{value:.2f}" for value in (row.attention, row.positional, row.symbolic))
        table.add_row(str(row.layer), str(row.head), row.window, *numbers)
    console.out.print(table)
    console.remark(
        "A head that looks at one kind of token only is symbolic across windows, whatever it does within one."
    )


def _print_sensitivity(sensitivity: list[HeadScores]) -> None:
    console.out.print("\nPositional and symbolic score at several temperatures")
    table = console.table("layer", "head", *(f"tau {scores.tau:g}" for scores in sensitivity))
    for index, layer in enumerate(sensitivity[0].layers):
        for head in range(sensitivity[0].positional.shape[1]):
            pairs = [(scores.positional[index, head], scores.symbolic[index, head]) for scores in sensitivity]
            table.add_row(
                str(layer), str(head), *(f"{positional:.2f} {symbolic:.2f}" for positional, symbolic in pairs)
            )
    console.out.print(table)
