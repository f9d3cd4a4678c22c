"""Settings and tables of the study ``vocabularies``; missing items, outcomes and effects are those of the atlas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.studies.atlas.tables import BEFORE_LEARNING
from whatwhere.studies.atlas.tables import OUTCOMES as WORDS

LENGTH, HOPS, SIZE, SPELLED = "length", "hops", "vocabulary", "parts"
FACTORS = {
    LENGTH: "sequence length", HOPS: "hop length", SIZE: "vocabulary size", SPELLED: "tokens per pointer",
}  # fmt: skip
"""The columns of :class:`SizedRun` that are compared, in words."""
STEPS, PURE, POSITIONAL, SYMBOLIC = "steps", "pure_share", "pure_positional", "pure_symbolic"
_AS_IN_THE_ATLAS = (*BEFORE_LEARNING, PURE, POSITIONAL, SYMBOLIC, "break_length")
OUTCOMES = {STEPS: "step at which every hop class is learned"} | {name: WORDS[name] for name in _AS_IN_THE_ATLAS}
"""In words. Besides them ``step_hop1`` .., the step of each class, and ``accuracy_x4`` .., the accuracy at that many
times the training length."""
DEFINED_UNLEARNED = (*BEFORE_LEARNING, STEPS)
"""Outcomes of runs that did not learn, too: their steps are those of the whole run, a lower bound."""
INTERACTIONS = tuple((SPELLED, factor, outcome) for factor in (LENGTH, SIZE) for outcome in (STEPS, PURE))
"""Named before the first run: does spelling change what a factor costs?"""


def reach(multiple: int) -> str:
    """The outcome: accuracy at a multiple of the training length."""
    return f"accuracy_x{multiple}"


@dataclass(frozen=True)
class VocabulariesSettings:
    """What is read of each run."""

    multiples: Annotated[tuple[int, ...], "Multiples of the training length at which accuracy is compared."] = (4, 16)

    def __post_init__(self) -> None:
        if not self.multiples or min(self.multiples) < 2:
            raise WhatwhereError(f"expected multiples of 2 or more, got {self.multiples}; leave out what is shorter.")


@dataclass(frozen=True)
class SizedRun:
    """One run: its factors, and what came of it."""

    item: str
    """Its name in the sweep."""
    task: str
    seed: int
    condition: str
    """What differs from the most frequent sizes of the sweep: ``hops 3``; ``base`` if nothing does."""
    length: int
    """Items of an input: answers, pointers and the query, however many tokens they take."""
    hops: int
    """Of the longest path."""
    vocabulary: int
    """Different answers and pointers, however they are spelled."""
    parts: int
    """Tokens per pointer."""
    tokens: int
    """Of an input: more than its items where several tokens spell a pointer."""
    names: int
    """Different tokens that the model knows."""
    learned: bool
    """Whether every hop class ends at 0.9 or more."""
    steps: float
    """At which the last hop class reaches 0.9 (isotonic fit); all steps of the run if one never does."""
    accuracy: float
    """On the test split."""
    pure_share: float
    """Heads that end pure (gamma 0.1, last query, tau 1e-4)."""
    pure_positional: float
    pure_symbolic: float
    break_length: float
    """Tokens at which accuracy falls below one half; undefined if it does not within the lengths measured."""


@dataclass(frozen=True)
class Cost:
    """What doubling one factor does to one outcome, everything else equal."""

    task: str
    outcome: str
    factor: str
    at: str
    """The other sizes: ``base``, or what they are (``parts 2``)."""
    levels: str
    """The sizes that it is fitted to, the reference first."""
    per_doubling: Estimate
    """Least squares through the reference, for each seed; the mean with a t interval over seeds. Of ``steps`` it is in
    doublings: 1 means that twice the size takes twice the steps."""
