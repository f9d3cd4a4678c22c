"""Settings and tables of the study ``hops``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate

LONGEST = 8
"""Hops that are tried, as far as the vocabulary allows."""
FEWEST, MOST_LOOPS = 8, 64
LAST_BLOCK, BEST = "last block", "best"
"""What is confirmed on other inputs: the best number of loops of the last block, and the best loop of all."""


@dataclass(frozen=True)
class HopsSettings:
    """What is measured."""

    inputs: Annotated[int, "Sequences of each hop count; as many others confirm the best loop."] = 64
    loops: Annotated[int, "How often blocks are run again, at most; 0 for no loop."] = 4
    seed: Annotated[int, "Seed of the sequences."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=FEWEST)
        if not 0 <= self.loops <= MOST_LOOPS:
            raise WhatwhereError(f"expected 0 to {MOST_LOOPS} loops, got {self.loops}; choose one of these.")


@dataclass(frozen=True)
class LoopedAccuracy:
    """Accuracy at one hop count with some blocks run several times."""

    hops: int
    trained: bool
    """Whether the model was trained on as many."""
    first: int | None
    """The first block of those that are looped; none for the model as it is."""
    last: int | None
    """The last of them."""
    loops: int
    """How often they are run again."""
    accuracy: Estimate
    guess: float
    """The accuracy of a guess among the tokens that look like the answer."""


@dataclass(frozen=True)
class Confirmed:
    """A loop that was chosen on the inputs of ``accuracy``, on other inputs; means over hop counts beyond training."""

    choice: str
    """``last block``: its best number of loops; ``best``: the best of all loops."""
    first: int
    last: int
    loops: int
    chosen_at: float
    """Its mean accuracy on the inputs on which it was chosen."""
    before: Estimate
    """The accuracy without a loop."""
    after: Estimate
    lead: Estimate
    """The difference, input by input."""
