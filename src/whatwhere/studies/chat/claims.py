"""Chat models on the one-hop tasks: Section 3.7, Figures 5C and 5D, and their table.

``DIR/llm/table.csv`` has a row for each model, task and size, measured here or quoted from the paper. Only what was
measured of chat models is judged, not the reference solvers; where nothing was, the paper's numbers say what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_csv
from whatwhere.studies.claim import Claim, Finding
from whatwhere.studies.source import NotTested, Source

TABLE = "llm/table.csv"
COLUMNS = ("model", "task", "size", "samples", "mean", "sd", "source")
PUBLISHED = ("model", "task", "size", "mean", "sd")
MEASURED, QUOTED = "measured", "quoted"
ONE_HOP = "one_hop_"
"""The tasks of the paper begin so; others of the benchmark are not in it."""
NOT_CHAT = ("reference/", "whatwhere/", "mockllm/")
"""Providers whose models are no chat models: solvers to compare with, our own models, and stand-ins."""
SIZES = (32, 100)


@dataclass(frozen=True)
class Cell:
    """The accuracy of one model on one task at one size."""

    model: str
    task: str
    """``number`` or ``letter``."""
    size: int
    samples: int
    """Questions over all runs; 0 where the paper does not say."""
    mean: float
    sd: float
    source: str


def read_cells(directory: Path) -> list[Cell]:
    """The one-hop cells of chat models in ``DIR/llm/table.csv``, or those of the paper alone if there are none.

    Raises:
        WhatwhereError: the table is damaged.
    """
    path = directory / TABLE
    rows = read_csv(path, "the table of chat models", COLUMNS) if path.is_file() else []
    published = Path(str(files("whatwhere.studies.chat"))) / "published.csv"
    quoted = [{**row, "samples": "", "source": QUOTED} for row in read_csv(published, "the paper's numbers", PUBLISHED)]
    try:
        return _cells(rows) or _cells(quoted)
    except ValueError as error:
        raise WhatwhereError(f"{path} is damaged: {error}. Make it anew with: whatwhere llm table") from error


def _cells(rows: Sequence[Mapping[str, str]]) -> list[Cell]:
    return [
        Cell(
            row["model"], row["task"].removeprefix(ONE_HOP), int(row["size"]), int(float(row["samples"] or 0)),
            float(row["mean"]), float(row["sd"] or "nan"), row["source"],
        )
        for row in rows
        if row["task"].startswith(ONE_HOP) and not row["model"].startswith(NOT_CHAT)
    ]  # fmt: skip


def judged_on_measured(measure: Callable[[list[Cell]], Finding]) -> Callable[[Source], Finding]:
    """Judges what was measured; if nothing was, tells what the same question finds in the paper's numbers."""

    def of(source: Source) -> Finding:
        cells = read_cells(source.directory)
        measured, quoted = ([cell for cell in cells if cell.source == kind] for kind in (MEASURED, QUOTED))
        if measured:
            return measure(measured)
        said = f" The paper's own numbers: {measure(quoted).why}" if quoted else ""
        how = "Measure one with: whatwhere llm run, then whatwhere llm table"
        raise NotTested(f"no chat model was measured here.{said} {how}", missing=True)

    return of


def letter_above_number(cells: list[Cell]) -> Finding:
    """The share of models and sizes at which the letter task is the easier one."""
    by_task = {(cell.model, cell.size, cell.task): cell for cell in cells}
    pairs = [
        (cell, by_task[cell.model, cell.size, "letter"])
        for cell in cells
        if cell.task == "number" and (cell.model, cell.size, "letter") in by_task
    ]
    if not pairs:
        raise NotTested("no model was measured on both tasks at one size.")
    against = [f"{number.model} at {number.size}" for number, letter in pairs if letter.mean <= number.mean]
    why = f"Letter above number in {len(pairs) - len(against)} of {len(pairs)} models and sizes."
    why += f" Not so: {', '.join(against)}." * bool(against)
    inputs = min(cell.samples for pair in pairs for cell in pair)
    return Finding(not against, 1 - len(against) / len(pairs), why, None, inputs or None)


def beyond(task: str, limits: tuple[float, float], above: bool) -> Callable[[list[Cell]], Finding]:
    """By how much every model keeps to a limit at each of the two sizes of the text; negative where one does not."""

    def measure(cells: list[Cell]) -> Finding:
        margins, told = [], []
        for size, limit in zip(SIZES, limits, strict=True):
            here = [cell for cell in cells if (cell.task, cell.size) == (task, size)]
            if not here:
                raise NotTested(f"no model was measured on the {task} task at size {size}.")
            margins += [(cell.mean - limit if above else limit - cell.mean) for cell in here]
            told.append(f"{task} at size {size}: " + ", ".join(f"{cell.model} {cell.mean:.2f}" for cell in here))
        inputs = min(cell.samples for cell in cells)
        return Finding(min(margins) > 0, min(margins), "; ".join(told) + ".", None, inputs or None)

    return measure


_SECTION = "Section 3.7, Figures 5C and 5D, table of the appendix"

CLAIMS = (
    Claim(
        "llm-letter-above-number",
        "Chat models: the letter task is consistently easier than the number task",
        "On one-hop versions of the tasks, chat models are consistently more accurate on letters than on numbers.",
        _SECTION,
        "Share of models and window sizes at which mean accuracy on the letter task is the higher one.",
        "all of them: consistently",
        judged_on_measured(letter_above_number),
        "29 of 30 in the paper's table; GPT 5.4 at size 12 is the exception (erratum E20)",
        trained=False,
    ),
    Claim(
        "llm-number-falls",
        "Chat models: number accuracy falls below 0.5 at 32 and below 0.1 at 100",
        "Accuracy on the number task falls rapidly with length, for every model.",
        _SECTION,
        "Smallest distance of any model below 0.5 at size 32 and below 0.1 at size 100.",
        "above 0",
        judged_on_measured(beyond("number", (0.5, 0.1), above=False)),
        "0.45, 0.23, 0.15 at 32; 0.08, 0.07, 0.06 at 100",
        trained=False,
    ),
    Claim(
        "llm-letter-stays",
        "Chat models: letter accuracy is above 0.88 at 32 and above 0.65 at 100",
        "Accuracy on the letter task stays high, for every model.",
        _SECTION,
        "Smallest distance of any model above 0.88 at size 32 and above 0.65 at size 100.",
        "above 0",
        judged_on_measured(beyond("letter", (0.88, 0.65), above=True)),
        "0.99, 0.96, 0.88 at 32 (0.88 is not above 0.88; erratum E20); 0.85, 0.66, 0.86 at 100",
        trained=False,
    ),
)  # fmt: skip
