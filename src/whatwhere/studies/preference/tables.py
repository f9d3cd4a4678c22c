"""Settings and tables of the study ``preference``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate

SYMBOLIC, POSITIONAL, OTHER = "symbolic", "positional", "other"
READINGS = (SYMBOLIC, POSITIONAL, OTHER)
"""What an answer to a conflict input is: that of the letters, that of the distances, or neither."""
FEWEST = 16


@dataclass(frozen=True)
class PreferenceSettings:
    """What is measured."""

    inputs: Annotated[int, "Sequences of each kind up to length 32; length n gets 32/n, at least an eighth."] = 600
    lengths: Annotated[tuple[int, ...], "Lengths in tokens beyond that of training, which is always measured."] = (
        33, 65, 145, 325, 850,
    )  # fmt: skip
    seed: Annotated[int, "Seed of the sequences and of the intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=FEWEST)
        if (shortest := min(self.lengths, default=1)) < 1:
            raise WhatwhereError(f"expected lengths of 1 token or more, got {shortest}.")

    def sequences(self, length: int) -> int:
        """How many sequences of a length: about 32 tokens for each of ``inputs``, and never below an eighth of them."""
        return max(min(self.inputs, 32 * self.inputs // length), self.inputs // 8)


@dataclass(frozen=True)
class Accuracy:
    """Accuracy where both cues agree, at one length."""

    length: int
    hop: int | None
    """The hop class; none for the mean over classes."""
    accuracy: Estimate


@dataclass(frozen=True)
class Answer:
    """How often the answer to a conflict input is that of one reading."""

    where: str
    """On which hops the cues disagree: ``last`` or ``every``."""
    length: int
    hop: int | None
    reading: str
    """``symbolic``: the letters' answer; ``positional``: the distances'; ``other``: neither."""
    share: Estimate


@dataclass(frozen=True)
class HeadScore:
    """The scores of one head at the training length, where the cues agree, over the pointers of the path."""

    layer: int
    head: int
    positional: Estimate
    symbolic: Estimate


def means_by_length(rows: Iterable[Accuracy]) -> dict[int, Estimate]:
    """Mean accuracy over hop classes, by rising length."""
    return {row.length: row.accuracy for row in sorted(rows, key=lambda row: row.length) if row.hop is None}


def share_of(rows: Iterable[Answer], reading: str, length: int, where: str, hop: int | None = None) -> Estimate:
    """The share of one reading; of all hop classes by default."""
    wanted = reading, length, where, hop
    return next(row.share for row in rows if (row.reading, row.length, row.where, row.hop) == wanted)
