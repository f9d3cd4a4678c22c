"""The table of the benchmark: accuracy per model, task and size over runs, with the paper's values quoted beside it.

Written as tidy CSV (``table``, ``profile``, ``screening``, ``samples``) and as Markdown for people. Means and standard
deviations are those of the paper: over runs, with n - 1 in the denominator (the paper does not say; its printed values
do not decide). Accuracy is strict; the lenient reading stands beside it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby, pairwise
from math import isnan, nan
from pathlib import Path
from statistics import fmean, stdev

from whatwhere.errors import WhatwhereError
from whatwhere.heads.intervals import wilson_interval
from whatwhere.store.storage import write_text
from whatwhere.studies.chat.extraction import Verdict
from whatwhere.studies.chat.logs import Logged, read_logs
from whatwhere.studies.chat.one_hop import blind_chance, window_chance
from whatwhere.studies.chat.screening import ScreeningRow, screen
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task

MEASURED, QUOTED = "measured", "quoted"
BINS = 8
"""Ranges of distance in a positional profile, of equal width."""


@dataclass(frozen=True)
class TableRow:
    """One model, task and size."""

    model: str
    task: str
    size: int
    source: str
    """``measured``, or ``quoted`` from the paper."""
    runs: int
    samples: float
    """Questions with a reply; NaN for quoted rows, as the paper does not say."""
    planned: float
    """Questions in the plan of these runs; more than ``samples`` marks a partial result."""
    mean: float
    """Strict accuracy, the mean over runs."""
    sd: float
    """Standard deviation over runs; NaN for a single run."""
    low: float
    high: float
    """Wilson's 95 % interval of the pooled accuracy."""
    lenient: float
    no_answer: float
    """Share of replies that hold no answer by the strict rule; the rest to 1 is wrong answers."""
    reasoned: float
    output_tokens: float
    """Mean per reply; NaN where the provider does not say."""
    floor: float
    """What a guess scores that does not look at the window."""
    window_floor: float
    """What a uniform guess among the window's tokens scores."""


@dataclass(frozen=True)
class ProfileRow:
    """Accuracy at some distances of the answer from the query, over all runs."""

    model: str
    task: str
    size: int
    near: int
    far: int
    samples: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class SampleRow:
    """One question."""

    model: str
    task: str
    size: int
    run: int
    number: int
    distance: int
    strict: str
    lenient: str
    single_token: bool
    reasoned: bool
    output_tokens: float
    reasoning_tokens: float
    reply: str


def make_table(sources: Sequence[Path], directory: Path) -> Results:
    """Reads logs and writes the tables into a directory.

    Args:
        sources: directories with inspect-ai logs, anywhere below.
        directory: where the tables go.

    Raises:
        WhatwhereError: there is no log of the benchmark.
    """
    logs = [logged for logged in read_logs(sources) if logged.answers]
    if not logs:
        raise WhatwhereError(
            f"logs with replies to the benchmark were expected below {', '.join(map(str, sources))}, and there are "
            "none. Make some with: whatwhere llm run --model reference/counter --quick"
        )
    results = Results(directory)
    table = [*measured_rows(logs), *published_rows()]
    screening = screen(logs)
    results.write("table", table)
    results.write("profile", profile_rows(logs))
    results.write("screening", screening)
    results.write("samples", sample_rows(logs))
    write_text(directory / "table.md", markdown(table, screening))
    return results


def measured_rows(logs: Sequence[Logged]) -> list[TableRow]:
    """One row for each model, task and size; ``logs`` come sorted."""
    rows = []
    for (model, task, size), cell in groupby(logs, lambda log: (log.model, log.cell.task, log.cell.size)):
        runs = list(cell)
        answers = [answer for run in runs for answer in run.answers]
        shares = [fmean(answer.strict is Verdict.RIGHT for answer in run.answers) for run in runs]
        hits = sum(answer.strict is Verdict.RIGHT for answer in answers)
        tokens = [answer.output_tokens for answer in answers if answer.output_tokens is not None]
        floor, window = floors(task, size)
        rows.append(
            TableRow(
                model, task, size, MEASURED, len(runs), len(answers), sum(run.wanted for run in runs),
                fmean(shares), stdev(shares) if len(shares) > 1 else nan, *wilson_interval(hits, len(answers)),
                fmean(answer.lenient is Verdict.RIGHT for answer in answers),
                fmean(answer.strict is Verdict.NO_ANSWER for answer in answers),
                fmean(answer.reasoned for answer in answers), fmean(tokens) if tokens else nan, floor, window,
            )
        )  # fmt: skip
    return rows


def published_rows() -> list[TableRow]:
    """The paper's table of accuracies (Appendix "Generalization on LLMs"), as printed; size 150 is not in it."""
    text = files("whatwhere.studies.chat").joinpath("published.csv").read_text(encoding="utf-8")
    return [
        TableRow(
            row["model"], row["task"], int(row["size"]), QUOTED, 5, nan, nan, float(row["mean"]), float(row["sd"]),
            nan, nan, nan, nan, nan, nan, *floors(row["task"], int(row["size"])),
        )
        for row in csv.DictReader(text.splitlines())
    ]  # fmt: skip


def floors(task: str, size: int) -> tuple[float, float]:
    """What guessing scores: without a look at the window, and uniformly within it (NaN for several hops)."""
    kind, name = task.rsplit("_", 1)
    if kind == "one_hop":
        return blind_chance(name), window_chance(name, size)
    return 1 / len(make_task(name).answer_ids), nan


def profile_rows(logs: Sequence[Logged]) -> list[ProfileRow]:
    """Accuracy against the distance of the answer: flat for a model that finds contents, falling if it counts."""
    rows = []
    for (model, task, size), cell in groupby(logs, lambda log: (log.model, log.cell.task, log.cell.size)):
        answers = [answer for run in cell for answer in run.answers]
        edges = [round(size * i / min(BINS, size)) for i in range(min(BINS, size) + 1)]
        for near, far in pairwise(edges):
            here = [answer.strict is Verdict.RIGHT for answer in answers if near < answer.distance <= far]
            share = fmean(here) if here else nan
            low, high = wilson_interval(sum(here), len(here))
            rows.append(ProfileRow(model, task, size, near + 1, far, len(here), share, low, high))
    return rows


def sample_rows(logs: Iterable[Logged]) -> list[SampleRow]:
    """Every question with its reply."""
    return [
        SampleRow(
            log.model, log.cell.task, log.cell.size, log.cell.run, answer.number, answer.distance, str(answer.strict),
            str(answer.lenient), answer.single_token, answer.reasoned, _number(answer.output_tokens),
            _number(answer.reasoning_tokens), answer.reply,
        )
        for log in logs
        for answer in sorted(log.answers, key=lambda answer: answer.number)
    ]  # fmt: skip


def _number(value: int | None) -> float:
    return nan if value is None else value


def markdown(table: Sequence[TableRow], screening: Sequence[ScreeningRow]) -> str:
    """The table for people: a block per task, sizes down, models across; partial results carry their counts."""
    parts = []
    for task in dict.fromkeys(row.task for row in sorted(table, key=lambda row: row.task, reverse=True)):
        here = {(row.model, row.source, row.size): row for row in table if row.task == task}
        models = list(dict.fromkeys((model, source) for model, source, _ in here))
        parts.append(f"## {task}\n")
        parts.append(_line(["size", *(model + " (quoted)" * (source == QUOTED) for model, source in models), "floor"]))
        parts.append(_line(["---:"] * (len(models) + 2)))
        for size in sorted({size for *_, size in here}):
            cells = [here.get((*model, size)) for model in models]
            floor = next(row.floor for row in cells if row)
            parts.append(_line([str(size), *(shown(row) if row else "" for row in cells), f"{floor:.3f}"]))
        parts.append("")
    parts.append(
        "Strict accuracy, mean over runs (standard deviation). [answered/planned, runs] marks a partial result.\n"
    )
    parts.append("## Screening\n")
    parts.append(_line(["model", "status", "why"]))
    parts.append(_line(["---"] * 3))
    parts += [_line([row.model, row.status, row.why]) for row in screening]
    return "\n".join(parts) + "\n"


def mean_and_deviation(row: TableRow) -> str:
    """The accuracy as the paper prints it; a single run has no deviation."""
    return f"{row.mean:.2f}" + ("" if isnan(row.sd) else f" ({row.sd:.2f})")


def shown(row: TableRow) -> str:
    """A cell of the table for people; partial results are marked with their counts."""
    text = mean_and_deviation(row)
    if row.source == MEASURED and row.samples < row.planned:
        text += f" [{row.samples:.0f}/{row.planned:.0f}, {row.runs} run{'s' * (row.runs > 1)}]"
    elif row.source == MEASURED and row.runs == 1:
        text += " [1 run]"
    return text


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
