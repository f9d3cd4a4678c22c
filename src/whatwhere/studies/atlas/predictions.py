"""The predictions made before the first run (``predictions.toml``), and whether they were right."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from whatwhere.heads.estimate import Estimate
from whatwhere.store.documents import parse
from whatwhere.store.files import read_text
from whatwhere.studies.claim import meets
from whatwhere.studies.seed_means import FEWEST_SEEDS

AS_EXPECTED, OTHERWISE, OPEN, NOT_ANSWERED = "as expected", "otherwise", "open", "not answered"


@dataclass(frozen=True)
class Part:
    """One number that a question asks for."""

    number: str
    """What it is."""
    expected: str
    """The prediction in words."""
    threshold: str
    """The same as a test: ``above 0``."""


@dataclass(frozen=True)
class Question:
    """One of the seven, with its predictions by part."""

    question: str
    parts: dict[str, Part]


@cache
def read_predictions() -> dict[str, Question]:
    """The questions in their order.

    Raises:
        WhatwhereError: a field is missing or unknown.
    """
    path = Path(__file__).with_name("predictions.toml")
    content = tomllib.loads(read_text(path, "the predictions"))
    del content["fixed"]  # the day, for readers
    return {name: parse(Question, record, f"{name} in {path}") for name, record in content.items()}


def came_out(part: Part, value: Estimate) -> str:
    """Whether a number is as predicted, with its whole interval; fewer than three seeds leave it open.

    Seeds that agree exactly have no interval: then it is as predicted with every seed, or with none.
    """
    if math.isnan(value.value):
        return NOT_ANSWERED
    if value.n < FEWEST_SEEDS:
        return OPEN
    known = [end for end in (value.value, *value.interval) if not math.isnan(end)]
    met = {meets(part.threshold, end, part.number) for end in known}
    return OPEN if len(met) > 1 else AS_EXPECTED if met == {True} else OTHERWISE
