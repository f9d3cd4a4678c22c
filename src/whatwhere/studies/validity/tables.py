"""Settings and tables of the study ``validity``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import check_least
from whatwhere.heads.estimate import Estimate

ADDITIVE, ROTARY, ONE_HOT, FLAT = "additive", "rotary", "one-hot", "flat"
RANDOM_LOGITS, RANDOM_WEIGHTS, UNTRAINED = "random logits", "random weights", "untrained"
NULLS = (RANDOM_LOGITS, RANDOM_WEIGHTS)
SHARES = tuple(eighth / 8 for eighth in range(9))
"""How much of the logits' variance comes from content: whole numbers of a rotary head's eight planes."""
ENTROPIES = (0.9, 0.5, 0.1)
"""Sharpness: entropy of attention as a share of its maximum."""
FEWEST_HEADS, FEWEST_INPUTS = 8, 2


@dataclass(frozen=True)
class ValiditySettings:
    """How many heads are made, and on how many inputs each is scored."""

    heads: Annotated[int, "Null heads of each kind; of mixed heads, a quarter as many."] = 100
    inputs: Annotated[int, "Inputs on which each head is scored."] = 64
    seed: Annotated[int, "Seed of the heads and inputs."] = 0

    def __post_init__(self) -> None:
        check_least(self, heads=FEWEST_HEADS, inputs=FEWEST_INPUTS)


@dataclass(frozen=True)
class Span:
    """The numbers between which 95 of 100 heads lie."""

    low: float
    high: float


@dataclass(frozen=True)
class KnownScore:
    """Scores of heads of one kind, by swaps, at one temperature."""

    family: str
    """``additive`` and ``rotary`` are mixed in a known share, ``one-hot`` and ``flat`` are limits, the rest nulls."""
    share: float
    """The part of the logits' variance that comes from content; undefined for null and flat heads."""
    entropy: float
    """Of attention, as a share of its maximum."""
    tau: float
    positional: Estimate
    """Mean over heads, with its interval."""
    symbolic: Estimate
    positional_heads: Span
    symbolic_heads: Span
    centred_positional: float
    """1 - symbolic: a flat head reads 0."""
    centred_symbolic: float
    """1 - positional."""


@dataclass(frozen=True)
class PermutationScore:
    """A score of additive heads by swaps, and by all permutations."""

    tokens: int
    listed: bool
    """Whether all permutations were taken; otherwise they were drawn."""
    share: float
    entropy: float
    tau: float
    score: str
    """``positional`` or ``symbolic``."""
    swaps: float
    permutations: float
    difference: Estimate
    """Permutations less swaps; the interval is over heads."""
    error: float
    """Standard error that is due to drawing permutations; 0 if all were taken."""


@dataclass(frozen=True)
class NullLabel:
    """How often a head that is neither is labelled pure."""

    family: str
    entropy: float
    tau: float
    gamma: float
    inputs: int
    """On which each head was scored."""
    positional: Estimate
    """Share of heads that are labelled so."""
    symbolic: Estimate
