"""The letter task: the right letter of a pair names the left letter of an earlier pair (Section 2.1; Appendix).

Writing a token as (L, R), an h-hop path has ``R(p_r) = L(p_(r+1))``, and the answer is the letter-integer token at p_h.
The appendix does not ask that the path be unique (erratum E2); in every generator here
(:mod:`whatwhere.tasks.generators`) each letter of the path is the left letter of one token.

With ``parts=2`` a pair of letters is two tokens, its left letter and its right one; with ``parts=4`` each letter is two
tokens. A letter-integer pair is one token always: it may be the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.balance import random_orders
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.generators import GENERATORS, SIMPLE
from whatwhere.tasks.spelled import SpelledLetters
from whatwhere.tasks.task import Built, Task
from whatwhere.tasks.vocabulary import MOST_LETTERS, Each, LetterVocabulary, Sequences


@dataclass(frozen=True, kw_only=True)
class LetterTask(Task):
    """Letter-integer pairs in the target window, letter-letter pairs after it."""

    name: ClassVar[str] = "letter"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"generator": tuple(GENERATORS)}

    letters: int = 8
    integers: int = 8
    generator: str = "paper"
    """``paper`` is the authors' data; ``decoy``, the leak-free control, hides the answer among decoys; ``strict``
    makes left letters unique, for the theorems; ``simple`` leaves room for longer chains."""

    def __post_init__(self) -> None:
        super().__post_init__()
        generator = GENERATORS[self.generator]
        needed = self.max_hops + generator.spare_letters
        if self.letters < needed:
            raise WhatwhereError(
                f"{self.max_hops} hops need {needed} letters in the {self.generator} generator (those of the path and "
                f"those that hide it), and there are {self.letters}. Raise letters or lower max_hops."
            )
        if self.letters > MOST_LETTERS:
            raise WhatwhereError(
                f"expected at most {MOST_LETTERS:,} letters (of two characters), got {self.letters:,}."
            )
        if self.parts != 1 and self.parts % 2:
            raise WhatwhereError(
                f"expected parts of 1 or an even number, as many for the left letter as for the right, "
                f"got {self.parts}."
            )
        if self.target < generator.target_needed:
            raise WhatwhereError(
                f"the {self.generator} generator needs {generator.target_needed} target tokens, the answer and others "
                f"beside it, and target is {self.target}."
            )

    @cached_property
    def vocabulary(self) -> LetterVocabulary | SpelledLetters:  # noqa: D102
        sizes = self.letters, self.integers
        return LetterVocabulary(*sizes) if self.parts == 1 else SpelledLetters(*sizes, self.parts)

    @property
    def whole(self) -> LetterVocabulary:
        """The vocabulary in which every pair is one token."""
        return self.vocabulary if isinstance(self.vocabulary, LetterVocabulary) else self.vocabulary.whole

    @property
    def answer_ids(self) -> Int[np.ndarray, "values"]:  # noqa: D102
        ids = np.arange(self.vocab_size)
        return ids[~self.vocabulary.points(ids)]

    def build(self, rng: np.random.Generator, hops: Each, answers: Each, places: Each) -> Built:
        """Draws the roles, then which letter plays which role."""
        roles = GENERATORS[self.generator].draw(rng, hops, places, self)
        rows = np.arange(len(hops))
        letter = random_orders(rng, self.whole.left(answers), self.letters)  # [role, n]
        items = np.empty(roles.left.shape, np.int32)  # [item, n]
        for p, left in enumerate(roles.left):
            after = p - self.target
            right = letter[roles.right[after], rows] if after >= 0 else self.letters + roles.integer[p]
            items[p] = self.whole.pair(letter[left, rows], right)
        items[places, rows] = answers
        return items, roles.visited

    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """What the generator itself puts beside the path."""
        extra = GENERATORS[self.generator].extra(rng, self._whole(batch), self.whole, count)
        return self.vocabulary.spell(extra)

    def fillers(self, batch: Batch) -> Bool[np.ndarray, "n target"]:
        """Every token whose left letter the generator would give to an extra token."""
        batch = self._whole(batch)
        left = self.whole.left(batch.tokens[:, : batch.tokens.shape[1] - self.pointing])
        return ~np.take_along_axis(GENERATORS[self.generator].reserved(batch, self.whole), left, 1)

    def _whole(self, batch: Batch) -> Batch:
        return replace(batch, tokens=self.vocabulary.read(batch.tokens), vocabulary=self.whole)

    @property
    def most_hops(self) -> int:
        """A chain takes a letter for each hop, and all other tokens need one more."""
        return min(super().most_hops, self.letters - 1)

    def for_chains(self, hops: int) -> LetterTask:
        """Always the ``simple`` generator, which needs the fewest letters, so that hop counts are comparable."""
        return replace(self, generator=SIMPLE.name, max_hops=hops)

    def chain_chance(self, hops: int) -> float:
        """The answer and the decoys look the same."""
        return 1 / (1 + SIMPLE.decoys(self.for_chains(hops)))

    def step(self, tokens: Sequences, positions: Each) -> tuple[Each, Each]:
        """Goes to the token before the position whose left letter is the right letter at the position."""
        rows, items = np.arange(len(tokens)), self.vocabulary.read(tokens)
        wanted = self.whole.right(items[rows, positions])
        before = np.arange(tokens.shape[1]) < positions[:, None]
        match = before & (self.whole.left(items) == wanted[:, None])  # [n, seq]
        there = match.argmax(1)
        other = match & (items != items[rows, there][:, None])
        return there, match.any(1).astype(np.int64) + other.any(1)
