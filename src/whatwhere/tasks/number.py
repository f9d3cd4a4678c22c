"""The number task: an integer says how many positions to go back (Section 2.1; Appendix "Number Task").

With positions counted from 0 and sigma_p the number at p, an h-hop path has ``sigma_(p_r) = p_r - p_(r+1)`` and the
answer is the symbol at p_h. (The appendix prints another index for the answer; erratum E1.)

If ``parts`` digits spell a number, it still counts tokens, from the last digit of the pointer to the last token of what
it points at. Rotary attention sees distances in tokens, so a number stays one rotation, and spelling changes nothing
else. Counted in items, the distance that a number means would depend on how many pointers lie between.
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
from whatwhere.tasks.spelled import SpelledNumbers
from whatwhere.tasks.task import LARGEST, Built, Task
from whatwhere.tasks.vocabulary import Each, NumberVocabulary, Sequences, smallest_base


@dataclass(frozen=True, kw_only=True)
class NumberTask(Task):
    """Symbols in the target window, integers after it."""

    name: ClassVar[str] = "number"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"distractors": ("in-range", "any")}

    symbols: int = 120
    """The alphabet: a .. z, aa .. dp."""
    integers: int = 16
    """Integers 1 .. 16; the longest hop, from the query to the first target token, must be among them.

    With ``parts`` above 1 they are the digits, 0 .. integers - 1, and numbers reach integers ** parts - 1."""
    distractors: str = "in-range"
    """Integers off the path: ``in-range`` ones point into the sequence, as Theorem 1 needs (E3); ``any`` may not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        reach, farthest = self.whole.integers, self.length - 1
        if reach < farthest:
            needed = farthest if self.parts == 1 else smallest_base(self.length, self.parts)
            raise WhatwhereError(
                f"the query may have to point {farthest} positions back (all tokens before its last), and the integers "
                f"end at {reach}. Raise integers to {needed}, or shorten a window."
            )
        if reach > LARGEST:
            raise WhatwhereError(
                f"expected numbers of at most {LARGEST:,}, got {reach:,} (integers ** parts - 1); lower one of them."
            )

    @cached_property
    def vocabulary(self) -> NumberVocabulary | SpelledNumbers:  # noqa: D102
        sizes = self.symbols, self.integers
        return NumberVocabulary(*sizes) if self.parts == 1 else SpelledNumbers(*sizes, self.parts)

    @property
    def whole(self) -> NumberVocabulary:
        """The vocabulary in which every number is one token."""
        return self.vocabulary if isinstance(self.vocabulary, NumberVocabulary) else self.vocabulary.whole

    @property
    def answer_ids(self) -> Int[np.ndarray, "values"]:  # noqa: D102
        return np.arange(self.symbols)

    def build(self, rng: np.random.Generator, hops: Each, answers: Each, places: Each) -> Built:
        """Every path is equally likely: a uniform subset of the pre-target window is visited."""
        n = len(hops)
        ends = self.ends
        items = np.empty((len(ends), n), np.int32)  # [item, n], so that an item is contiguous
        for p in range(self.target):
            items[p] = np.where(places == p, answers, below(rng, self.symbols, n))
        visited = random_subset(rng, np.ones((self.context, n), bool), hops - 1)
        landing = places  # what the next visited item points at: first the answer, then the item visited before it
        for p in range(self.target, len(ends)):
            on_path = visited[p - self.target] if p < len(ends) - 1 else np.ones(n, bool)
            if self.distractors == "in-range":
                off_path = ends[p] - ends[p - 1 - below(rng, p, n)]
            else:
                off_path = 1 + below(rng, self.whole.integers, n)
            items[p] = self.whole.integer(np.where(on_path, ends[p] - ends[landing], off_path))
            landing = np.where(on_path, p, landing)
        return items, visited

    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """Random symbols."""
        return rng.integers(0, self.symbols, (len(batch), count), dtype=np.int32)

    def fillers(self, batch: Batch) -> Bool[np.ndarray, "n target"]:
        """Every symbol but the answer."""
        return batch.tokens[:, : batch.tokens.shape[1] - self.pointing] != batch.answers[:, None]

    def chain_chance(self, hops: int) -> float:  # noqa: ARG002
        """Any target token looks like the answer."""
        return 1 / self.target

    def step(self, tokens: Sequences, positions: Each) -> tuple[Each, Each]:
        """Goes back by the number that ends at the position; nothing fits before the sequence and inside a pointer."""
        rows, items = np.arange(len(tokens)), self.vocabulary.read(tokens)
        here = items[rows, positions]
        there = np.where(here < 0, -1, positions - self.whole.value(here))
        return there, ((there >= 0) & (items[rows, np.maximum(there, 0)] >= 0)).astype(np.int64)
