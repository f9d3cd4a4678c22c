"""``whatwhere llm``: the one-hop benchmark for chat models."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whatwhere.cli import console
from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from whatwhere.studies.chat.plan import Estimate, Plan
    from whatwhere.studies.chat.providers import Provider
    from whatwhere.studies.chat.run import Outcome
    from whatwhere.studies.results import Results

OUT = Path("one-hop")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(no_args_is_help=True, help="The one-hop benchmark for chat models: ask them, and tabulate.")
    group.command(
        epilog="Example: [bold]whatwhere llm run --model openai/gpt-5.4 --quick[/bold], or without any key: "
        "[bold]whatwhere llm run --model reference/counter --quick[/bold]"
    )(run)
    group.command(epilog="Example: [bold]whatwhere llm table one-hop[/bold]")(table)
    app.add_typer(group, name="llm")


def run(
    model: Annotated[
        str, typer.Option(help="PROVIDER/NAME: any of inspect-ai (openai, hf ..), reference/counter, whatwhere/letter.")
    ],
    out: Annotated[Path, typer.Option(help="Results go to OUT/llm/; several models may share it.")] = OUT,
    quick: Annotated[bool, typer.Option("--quick", help="Sizes 16, 32, 100, one run, 40 examples: 240 calls.")] = False,
    tasks: Annotated[str | None, typer.Option(help="With commas; one_hop_letter,one_hop_number by default.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Window sizes with commas; the paper's 11 by default.")] = None,
    runs: Annotated[str | None, typer.Option(help="Runs with commas; a run's number is its seed; 1,2,3,4,5.")] = None,
    examples: Annotated[int | None, typer.Option(help="Sequences per task, size and run; 200 by default.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Where the model is served, if not at the provider's.")] = None,
    model_arg: Annotated[
        list[str] | None, typer.Option("--model-arg", "-M", help="KEY=VALUE for the provider; may be repeated.")
    ] = None,
    reasoning: Annotated[
        str | None, typer.Option(help="Effort to ask for; none where it can be switched off, 'default' leaves it.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of sampling.")] = 0.0,
    max_tokens: Annotated[int | None, typer.Option(help="Room for a reply; 32 by default.")] = None,
    connections: Annotated[int | None, typer.Option(min=1, help="Requests at a time; found out by default.")] = None,
    max_retries: Annotated[int | None, typer.Option(min=0, help="Of one request; 12 by default.")] = None,
    timeout: Annotated[int | None, typer.Option(min=1, help="Seconds for one attempt; 120 by default.")] = None,
    price: Annotated[
        str | None, typer.Option(help="IN,OUT: dollars per million input and output tokens, for the estimate.")
    ] = None,
    screen: Annotated[
        bool, typer.Option("--screen", help="Ask what the paper's screening needs first, and stop if it fails.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate calls, tokens and cost.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before paid calls.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:  # fmt: skip
    """Ask a model the one-hop questions of the paper.

    Interrupt it at any time: the same command goes on, and asks nothing again that was answered. Keys come from the
    environment (OPENAI_API_KEY ..) and are kept nowhere.
    """
    from whatwhere.studies.chat.plan import MAX_TOKENS, QUICK, Plan, estimate
    from whatwhere.studies.chat.providers import Provider
    from whatwhere.studies.chat.run import answered, model_directory

    provider = Provider(model, base_url)
    chosen = dict(QUICK) if quick else {}
    wanted = {"sizes": _numbers("--sizes", sizes), "runs": _numbers("--runs", runs), "examples": examples}
    chosen |= {name: value for name, value in wanted.items() if value is not None}
    if (asked := _tasks(tasks, provider)) is not None:
        chosen["tasks"] = asked
    effort = {None: provider.reasoning, "default": None}.get(reasoning, reasoning)
    plan = Plan(
        provider=provider, model_args=_arguments(model_arg or []), reasoning=effort, temperature=temperature,
        max_tokens=max_tokens or MAX_TOKENS, **chosen,
    )  # fmt: skip
    directory = model_directory(out, model)
    costs = _price(price)
    left = estimate(plan, answered(directory))
    _announce(plan, left, costs)
    if dry_run:
        if as_json:
            console.print_json(
                {"calls": left.calls, "input_tokens": left.input_tokens, "output_tokens": left.output_tokens,
                 "dollars": left.dollars(costs) if costs else None}
            )  # fmt: skip
        return
    if left.calls:
        _confirm(provider, yes)
    limits = {name: value for name, value in (("max_retries", max_retries), ("timeout", timeout)) if value is not None}
    outcome = _ask(plan, directory, screen, {"connections": connections, **limits})
    results = _tabulate([out / "llm"], out) if outcome.answered else None
    _print_outcome(plan, outcome, directory, results, as_json)


def table(
    logs: Annotated[list[Path], typer.Argument(help="Directories with inspect-ai logs, anywhere below.")],
    out: Annotated[Path | None, typer.Option(help="Tables go to OUT/llm/; the first of LOGS by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Tabulate logs: accuracy per model, task and size, the paper's values beside it, profiles, screening, figures.

    CSV, Markdown and figures go to [bold]OUT/llm/[/bold].
    """
    results = _tabulate(logs, out or logs[0])
    if as_json:
        console.print_json(_tables(results))
        return
    _print_table(results)


def _numbers(option: str, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError as error:
        raise WhatwhereError(
            f"{option} expects whole numbers with commas between them, such as 12,32,100, and {text!r} arrived."
        ) from error


def _tasks(text: str | None, provider: Provider) -> tuple[str, ...] | None:
    """The tasks that were asked for; a model of ours knows only its own."""
    if text is not None:
        return tuple(text.split(","))
    if provider.name != "whatwhere":
        return None
    from whatwhere.studies.results import task_of
    from whatwhere.zoo.load import load

    name = provider.model.removeprefix("whatwhere/")
    return (f"multi_hop_{task_of(load(name), name).name}",)


def _arguments(words: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs; values that look like numbers or booleans are read as such."""
    import json

    made: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise WhatwhereError(f"--model-arg expects KEY=VALUE, such as noise=0.1, and {word!r} arrived.")
        try:
            made[name] = json.loads(value)
        except json.JSONDecodeError:
            made[name] = value
    return made


def _price(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        price_in, price_out = (float(word) for word in text.split(","))
    except ValueError as error:
        raise WhatwhereError(
            f"--price expects dollars per million input and output tokens, such as 2.5,10, and {text!r} arrived."
        ) from error
    return price_in, price_out


def _announce(plan: Plan, left: Estimate, price: tuple[float, float] | None) -> None:
    answered = plan.calls - left.calls
    console.note(
        f"{plan.provider.model}: {left.calls:,} calls" + (f" ({answered:,} answered already)" if answered else "")
        + f", about {left.input_tokens:,} input and {left.output_tokens:,} output tokens"
        + (f", about ${left.dollars(price):,.2f}" if price else "")
    )  # fmt: skip
    if plan.provider.paid and not price:
        console.note("give --price IN,OUT (dollars per million tokens) for the cost")
    if plan.reasoning not in (None, "none"):
        console.note(f"reasoning effort {plan.reasoning}: the paper measured with reasoning off")


def _terminal() -> bool:
    return sys.stdin.isatty()


def _confirm(provider: Provider, yes: bool) -> None:
    if not provider.paid or yes:
        return
    if not _terminal():
        raise WhatwhereError(
            f"calls of {provider.model} may cost money, and there is no terminal to ask on. Add --yes to go ahead, or "
            "--dry-run to see the estimate."
        )
    if not typer.confirm(f"Calls of {provider.model} may cost money. Go ahead?", err=True):
        raise typer.Exit(1)


def _ask(plan: Plan, directory: Path, screened: bool, limits: dict[str, Any]) -> Outcome:
    from whatwhere.studies.chat.logs import read_logs
    from whatwhere.studies.chat.run import run_plan
    from whatwhere.studies.chat.screening import screen, screening_cells

    with console.progress() as bar:
        shown = bar.add_task(plan.provider.model, total=None)

        def observe(done: int, wanted: int) -> None:
            bar.update(shown, completed=done, total=wanted)

        try:
            if screened:
                outcome = run_plan(plan, directory, cells=screening_cells(plan), observer=observe, **limits)
                if not outcome.complete or any(row.status == "screened out" for row in screen(read_logs([directory]))):
                    return outcome
            return run_plan(plan, directory, observer=observe, **limits)
        except KeyboardInterrupt:
            bar.stop()
            console.note(f"stopped; replies are in {directory}, and the same command goes on.")
            raise typer.Exit(130) from None


def _tabulate(sources: list[Path], out: Path) -> Results:
    from whatwhere.studies.chat.figures import draw_llm
    from whatwhere.studies.chat.table import make_table

    results = make_table(sources, out / "llm")
    draw_llm(results.directory)
    return results


def _tables(results: Results) -> dict[str, Any]:
    from whatwhere.studies.chat.screening import ScreeningRow
    from whatwhere.studies.chat.table import TableRow

    return {
        "directory": str(results.directory),
        "table": [asdict(row) for row in results.read("table", TableRow)],
        "screening": [asdict(row) for row in results.read("screening", ScreeningRow)],
    }


def _print_outcome(plan: Plan, outcome: Outcome, directory: Path, results: Results | None, as_json: bool) -> None:
    if as_json:
        rest = _tables(results) if results else {"table": [], "screening": []}
        rest["table"] = [row for row in rest["table"] if row["model"] == plan.provider.model]
        rest["screening"] = [row for row in rest["screening"] if row["model"] == plan.provider.model]
        console.print_json({"wanted": outcome.wanted, "answered": outcome.answered, "error": outcome.error,
                            "logs": str(directory / "logs"), **rest})  # fmt: skip
    elif results:
        _print_table(results, plan.provider.model)
        console.remark(
            f"Logs: {directory / 'logs'} (inspect view --log-dir opens them); tables and figures: {results.directory}"
        )
    if not outcome.complete:
        console.complain(
            f"{outcome.wanted - outcome.answered} of {outcome.wanted} questions have no reply. "
            f"{outcome.error or 'No error was given.'} The same command asks them again."
        )
        raise typer.Exit(1)


def _print_table(results: Results, model: str | None = None) -> None:
    from whatwhere.studies.chat.screening import ScreeningRow
    from whatwhere.studies.chat.table import MEASURED, QUOTED, TableRow, mean_and_deviation

    rows = [row for row in results.read("table", TableRow) if model in (None, row.model)]
    for task in dict.fromkeys(row.task for row in rows if row.source == MEASURED):
        console.out.print(f"{task}: strict accuracy, mean (sd) over runs")
        made = console.table("model", "size", "accuracy", "lenient", "none", "replies", "floor", left=("model",))
        for row in (row for row in rows if row.task == task):
            quoted = row.source == QUOTED
            counts = f"{row.samples:.0f}" + (f"/{row.planned:.0f}" if row.samples < row.planned else "")
            beside = ("", "", "") if quoted else (f"{row.lenient:.2f}", f"{row.no_answer:.2f}", counts)
            name = row.model + " (quoted)" * quoted
            made.add_row(name, str(row.size), mean_and_deviation(row), *beside, f"{row.floor:.3f}")
        console.out.print(made)
    thinking = dict.fromkeys(row.model for row in rows if row.source == MEASURED and row.reasoned > 0)
    for name in thinking:
        console.out.print(f"{name} reasoned before some replies; the paper measured with reasoning off.", markup=False)
    for row in results.read("screening", ScreeningRow):
        if model in (None, row.model):
            reason = f" ({row.why})" if row.why else ""
            console.out.print(f"{row.model}: {row.status}{reason}", markup=False, soft_wrap=True)
    console.remark("none: replies without an answer. floor: a guess that does not look at the window.")
