"""The number task: an integer says how many positions to go back (Section 2.1; Appendix "Number Task").

With positions counted from 0 and sigma_p the number at p, an h-hop path has ``sigma_(p_r) = p_r - p_(r+1)`` and the
answer is the symbol at p_h. (The appendix prints another index for the answer; erratum E1.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.balance import below, random_subset
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Built, Task
from whatwhere.tasks.vocabulary import Each, NumberVocabulary, Sequences


@dataclass(frozen=True, kw_only=True)
class NumberTask(Task):
    """Symbols in the target window, integers after it."""

    name: ClassVar[str] = "number"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"distractors": ("in-range", "any")}

    symbols: int = 120
    """The alphabet: a .. z, aa .. dp."""
    integers: int = 16
    """Integers 1 .. 16; the longest hop, from the query to the first target token, must be among them."""
    distractors: str = "in-range"
    """Integers off the path: ``in-range`` ones point into the sequence, as Theorem 1 needs (E3); ``any`` may not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.integers < self.length - 1:
            raise WhatwhereError(
                f"the query may have to point {self.length - 1} positions back (target + context), and the integers "
                f"end at {self.integers}. Raise integers to {self.length - 1}, or shorten a window."
            )

    @cached_property
    def vocabulary(self) -> NumberVocabulary:  # noqa: D102
        return NumberVocabulary(self.symbols, self.integers)

    @property
    def answer_ids(self) -> Int[np.ndarray, "values"]:  # noqa: D102
        return np.arange(self.symbols)

    def build(self, rng: np.random.Generator, hops: Each, answers: Each, places: Each) -> Built:
        """Every path is equally likely: a uniform subset of the pre-target window is visited."""
        n = len(hops)
        tokens = np.empty((self.length, n), np.int32)  # [seq, n], so that a position is contiguous
        for p in range(self.target):
            tokens[p] = np.where(places == p, answers, below(rng, self.symbols, n))
        visited = random_subset(rng, np.ones((self.context, n), bool), hops - 1)
        landing = places  # what the next visited token points at: first the answer, then the token visited before it
        for p in range(self.target, self.length):
            on_path = visited[p - self.target] if p < self.length - 1 else np.ones(n, bool)
            largest = min(p, self.integers) if self.distractors == "in-range" else self.integers
            tokens[p] = self.vocabulary.integer(np.where(on_path, p - landing, 1 + below(rng, largest, n)))
            landing = np.where(on_path, p, landing)
        return tokens, visited

    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """Random symbols."""
        return rng.integers(0, self.symbols, (len(batch), count), dtype=np.int32)

    def fillers(self, batch: Batch) -> Bool[np.ndarray, "n target"]:
        """Every symbol but the answer."""
        return batch.tokens[:, : batch.tokens.shape[1] - self.context - 1] != batch.answers[:, None]

    def chain_chance(self, hops: int) -> float:  # noqa: ARG002
        """Any target token looks like the answer."""
        return 1 / self.target

    def step(self, tokens: Sequences, positions: Each) -> tuple[Each, Each]:
        """Goes back by the number at the position."""
        there = positions - self.vocabulary.value(tokens[np.arange(len(tokens)), positions])
        return there, (there >= 0).astype(np.int64)
