"""Chat models on the one-hop tasks: Section 3.7, Figures 5C and 5D, and their table.

Only measurements of chat models are judged, not those of reference solvers; without any, the paper's own numbers are
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from whatwhere.studies.chat.tables import Cell
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested

ONE_HOP = "one_hop_"
"""Prefix of the paper's tasks; the benchmark has others too."""
NOT_CHAT = ("reference/", "whatwhere/", "mockllm/")
"""Providers without chat models: reference solvers, our own models, and mocks."""
SIZES = (32, 100)


class _Point(NamedTuple):
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


def _of_points(measure: Callable[..., Finding]) -> Callable[..., Finding]:
    """Judges the measurements; without any, reports the result for the paper's numbers."""

    @wraps(measure)
    def judged(evidence: Evidence, **asked: Any) -> Finding:
        if points := _measured(evidence):
            return measure(points, **asked)
        from whatwhere.studies.chat.tabulation import quoted

        paper = [_Point(row.model, row.task.removeprefix(ONE_HOP), row.size, row.mean, nan) for row in quoted()]
        raise NotTested(
            f"no chat model was measured here. The paper's own numbers: {measure(paper, **asked).why} "
            "Measure one with: whatwhere chat openai/gpt-5.4",
            missing=True,
        )

    return judged


@_of_points
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
    return Finding(1 - len(against) / len(pairs), why, None, _least([p for pair in pairs for p in pair]))


@_of_points
def beyond(points: Sequence[_Point], task: str, limits: Sequence[float], above: bool) -> Finding:
    """By how much every model keeps to a limit at each of the two sizes of the text; negative where one does not."""
    margins, found = [], []
    for size, limit in zip(SIZES, limits, strict=True):
        here = [point for point in points if (point.task, point.size) == (task, size)]
        if not here:
            raise NotTested(f"no model was measured on the {task} task at size {size}.")
        margins += [point.accuracy - limit if above else limit - point.accuracy for point in here]
        found.append(f"{task} at size {size}: {', '.join(f'{at.model} {at.accuracy:.2f}' for at in here)}")
    return Finding(min(margins), "; ".join(found) + ".", None, _least(points))


def _least(points: Sequence[_Point]) -> int | None:
    """The fewest replies of a number; None for the paper's, which does not report them."""
    return int(min(point.n for point in points)) if all(point.n == point.n for point in points) else None


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
