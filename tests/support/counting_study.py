"""A study of trained models that measures nothing and takes no time: it counts what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure as Canvas

from whatwhere.errors import WhatwhereError
from whatwhere.studies.results import Results
from whatwhere.studies.study import Figure, Progress, Study
from whatwhere.studies.subject import TRAINED


@dataclass(frozen=True)
class CountingSettings:
    """What is counted."""

    inputs: int = 4
    twice: bool = False


@dataclass(frozen=True)
class Count:
    """A number."""

    count: int


def measure(_: Any, settings: CountingSettings, results: Results, progress: Progress) -> None:
    """Counts, and refuses what cannot be counted."""
    if settings.inputs < 1:
        raise WhatwhereError(f"expected 1 or more inputs, got {settings.inputs}.")
    progress("counting", 1, 2)
    results.write("counts", [Count(settings.inputs)])
    if settings.twice:
        results.write("doubles", [Count(2 * settings.inputs)])


def draw(results: Mapping[str, Results]) -> Canvas:
    """A figure with nothing in it."""
    del results
    canvas = Canvas()
    canvas.subplots()
    return canvas


COUNTING = Study(
    name="counting",
    question="How many?",
    paper="nowhere",
    subject=TRAINED,
    settings=CountingSettings,
    tables={"counts": Count, "doubles": Count},
    on_request={"doubles": "twice"},
    measure=measure,
    summary=lambda results: [f"counted on {results.name}"],
    figures=(Figure("counted", draw, ("counts",), shows="models"),),
    example="whatwhere counting letter",
)
