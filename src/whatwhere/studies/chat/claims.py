"""Chat models on the one-hop tasks: Section 3.7, Figures 5C and 5D, and their table.

Only what was measured of chat models is judged, not the reference solvers; where nothing was, the paper's own numbers
are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

from whatwhere.studies.chat.tables import Cell
from whatwhere.studies.claim import Claim, Finding
from whatwhere.studies.evidence import Evidence, NotTested

ONE_HOP = "one_hop_"
"""The tasks of the paper begin so; others of the benchmark are not in it."""
NOT_CHAT = ("reference/", "whatwhere/", "mockllm/")
"""Providers whose models are no chat models: solvers to compare with, our own models, and stand-ins."""
SIZES = (32, 100)


@dataclass(frozen=True)
class _Point:
    """The accuracy of one model on one task at one size."""

    model: str
    task: str
    """``number`` or ``letter``."""
    size: int
    accuracy: float
    n: float


def _measured(evidence: Evidence) -> list[_Point]:
    try:
        cells = evidence.rows("chat", None, "cells", Cell)
    except NotTested:
        return []
    return [
        _Point(cell.model, cell.task.removeprefix(ONE_HOP), cell.size, cell.accuracy.value, cell.accuracy.n)
        for cell in cells
        if cell.task.startswith(ONE_HOP) and not cell.model.startswith(NOT_CHAT)
    ]


def _judged(measure: Callable[[Sequence[_Point]], Finding]) -> Callable[[Evidence], Finding]:
    """Judges what was measured; if nothing was, tells what the same question finds in the paper's numbers."""

    def of(evidence: Evidence) -> Finding:
        points = _measured(evidence)
        if points:
            return measure(points)
        from whatwhere.studies.chat.tabulation import quoted

        paper = [_Point(row.model, row.task.removeprefix(ONE_HOP), row.size, row.mean, nan) for row in quoted()]
        raise NotTested(
            f"no chat model was measured here. The paper's own numbers: {measure(paper).why} "
            "Measure one with: whatwhere chat openai/gpt-5.4",
            missing=True,
        )

    return of


def letter_above_number(points: Sequence[_Point]) -> Finding:
    """The share of models and sizes at which the letter task is the easier one."""
    numbers, letters = (
        {(point.model, point.size): point for point in points if point.task == task} for task in ("number", "letter")
    )
    pairs = [(number, letters[place]) for place, number in numbers.items() if place in letters]
    if not pairs:
        raise NotTested("no model was measured on both tasks at one size.")
    against = [f"{number.model} at {number.size}" for number, letter in pairs if letter.accuracy <= number.accuracy]
    why = f"Letter above number in {len(pairs) - len(against)} of {len(pairs)} models and sizes."
    why += f" Not so: {', '.join(against)}." * bool(against)
    return Finding(not against, 1 - len(against) / len(pairs), why, None, _least([p for pair in pairs for p in pair]))


def beyond(task: str, limits: tuple[float, float], above: bool) -> Callable[[Sequence[_Point]], Finding]:
    """By how much every model keeps to a limit at each of the two sizes of the text; negative where one does not."""

    def measure(points: Sequence[_Point]) -> Finding:
        margins, found = [], []
        for size, limit in zip(SIZES, limits, strict=True):
            here = [point for point in points if (point.task, point.size) == (task, size)]
            if not here:
                raise NotTested(f"no model was measured on the {task} task at size {size}.")
            margins += [point.accuracy - limit if above else limit - point.accuracy for point in here]
            found.append(f"{task} at size {size}: {', '.join(f'{at.model} {at.accuracy:.2f}' for at in here)}")
        return Finding(min(margins) > 0, min(margins), "; ".join(found) + ".", None, _least(points))

    return measure


def _least(points: Sequence[_Point]) -> int | None:
    """The fewest replies that a number is made of; the paper does not say how many its own are."""
    return int(min(point.n for point in points)) if all(point.n == point.n for point in points) else None


_SECTION = "Section 3.7, Figures 5C and 5D, table of the appendix"

CLAIMS = (
    Claim(
        "chat-letter-above-number",
        "Chat models: the letter task is consistently easier than the number task",
        "On one-hop versions of the tasks, chat models are consistently more accurate on letters than on numbers.",
        _SECTION,
        "Share of models and window sizes at which accuracy on the letter task is the higher one.",
        "all of them: consistently",
        _judged(letter_above_number),
        "29 of 30 in the paper's table; GPT 5.4 at size 12 is the exception (erratum E20)",
        trained=False,
    ),
    Claim(
        "chat-number-falls",
        "Chat models: number accuracy falls below 0.5 at 32 and below 0.1 at 100",
        "Accuracy on the number task falls rapidly with length, for every model.",
        _SECTION,
        "Smallest distance of any model below 0.5 at size 32 and below 0.1 at size 100.",
        "above 0",
        _judged(beyond("number", (0.5, 0.1), above=False)),
        "0.45, 0.23, 0.15 at 32; 0.08, 0.07, 0.06 at 100",
        trained=False,
    ),
    Claim(
        "chat-letter-stays",
        "Chat models: letter accuracy is above 0.88 at 32 and above 0.65 at 100",
        "Accuracy on the letter task stays high, for every model.",
        _SECTION,
        "Smallest distance of any model above 0.88 at size 32 and above 0.65 at size 100.",
        "above 0",
        _judged(beyond("letter", (0.88, 0.65), above=True)),
        "0.99, 0.96, 0.88 at 32 (0.88 is not above 0.88; erratum E20); 0.85, 0.66, 0.86 at 100",
        trained=False,
    ),
)  # fmt: skip
