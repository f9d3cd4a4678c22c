"""The letter task: the right letter of a pair names the left letter of an earlier pair (Section 2.1; Appendix).

Writing a token as (L, R), an h-hop path has ``R(p_r) = L(p_(r+1))``, and the answer is the letter-integer token at p_h.
The appendix does not ask that the path be unique (erratum E2); in every generator here (:mod:`whatwhere.tasks.roles`)
each letter of the path is the left letter of one token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.balance import random_orders
from whatwhere.tasks.batch import Batch, paths_through
from whatwhere.tasks.roles import (
    DECOYS,
    Roles,
    decoy_letters,
    decoy_roles,
    paper_letters,
    paper_roles,
    strict_letters,
    strict_roles,
)
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import MOST_LETTERS, LetterVocabulary


@dataclass(frozen=True)
class _Generator:
    """One way to draw the letters of a sequence."""

    draw: Callable[..., Roles]
    letters_needed: Callable[[int], int]
    """Letters, by the largest number of hops."""
    target_needed: int


GENERATORS = {
    "paper": _Generator(paper_roles, paper_letters, 1),
    "decoy": _Generator(decoy_roles, decoy_letters, 1 + DECOYS),
    "strict": _Generator(strict_roles, strict_letters, 2),
}


@dataclass(frozen=True, kw_only=True)
class LetterTask(Task):
    """Letter-integer pairs in the target window, letter-letter pairs after it."""

    name: ClassVar[str] = "letter"

    letters: int = 8
    integers: int = 8
    generator: str = "paper"
    """``paper`` is the authors' data; ``decoy`` hides the answer among look-alikes, the leak-free control; ``strict``
    makes left letters unique, for the theorems."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.generator not in GENERATORS:
            raise WhatwhereError(f"expected a generator of {', '.join(GENERATORS)}, got {self.generator!r}.")
        generator = GENERATORS[self.generator]
        needed = generator.letters_needed(self.max_hops)
        if self.letters < needed:
            raise WhatwhereError(
                f"{self.max_hops} hops need {needed} letters in the {self.generator} generator (those of the path and "
                f"those that hide it), and there are {self.letters}. Raise letters or lower max_hops."
            )
        if self.letters > MOST_LETTERS:
            raise WhatwhereError(f"there are {MOST_LETTERS} letters, a..z and A..Z, and {self.letters} were asked for.")
        if self.target < generator.target_needed:
            raise WhatwhereError(
                f"the {self.generator} generator needs {generator.target_needed} target tokens, the answer and others "
                f"beside it, and target is {self.target}."
            )

    @property
    def vocabulary(self) -> LetterVocabulary:  # noqa: D102
        return LetterVocabulary(self.letters, self.integers)

    @property
    def answer_ids(self) -> Int[np.ndarray, "values"]:  # noqa: D102
        ids = np.arange(self.vocab_size)
        return ids[~self.vocabulary.points(ids)]

    def build(
        self,
        rng: np.random.Generator,
        hops: Int[np.ndarray, "n"],
        answers: Int[np.ndarray, "n"],
        places: Int[np.ndarray, "n"],
    ) -> Batch:
        """Draws the roles, then which letter plays which role."""
        roles = GENERATORS[self.generator].draw(
            rng,
            hops,
            places,
            letters=self.letters,
            integers=self.integers,
            target=self.target,
            context=self.context,
            max_hops=self.max_hops,
        )
        rows = np.arange(len(hops))
        letter = random_orders(rng, self.vocabulary.left(answers), self.letters)  # [role, n]
        tokens = np.empty(roles.left.shape, np.int32)  # [seq, n]
        for p, left in enumerate(roles.left):
            after = p - self.target
            right = letter[roles.right[after], rows] if after >= 0 else self.letters + roles.integer[p]
            tokens[p] = self.vocabulary.pair(letter[left, rows], right)
        tokens[places, rows] = answers
        return Batch(
            np.ascontiguousarray(tokens.T),
            answers.astype(np.int32),
            hops.astype(np.int32),
            paths_through(roles.visited, places, self.target, self.max_hops),
        )

    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """What the generator itself puts beside the path.

        Paper: any integer on a letter off the path. Decoy: any integer on a letter that nobody points at. Strict: copies
        of target tokens beside the answer.
        """
        n = len(batch)
        pick = rng.random((n, count), dtype=np.float32)
        if self.generator == "strict":
            place = (pick * (self.target - 1)).astype(np.int32)
            answer = np.take_along_axis(batch.paths, batch.hops[:, None], 1)
            return np.take_along_axis(batch.tokens, place + (place >= answer), 1)
        if self.generator == "paper":
            end = np.take_along_axis(batch.paths, batch.hops[:, None], 1)
            visited = np.where(batch.paths < 0, end, batch.paths)[:, 1:]
            letters = self.vocabulary.left(np.take_along_axis(batch.tokens, visited, 1))
        else:
            letters = self.vocabulary.right(batch.tokens[:, self.target :])
        taken = np.zeros((n, self.letters), bool)
        np.put_along_axis(taken, letters, True, 1)
        free = np.argsort(taken, axis=1, kind="stable")  # the letters that may be used, first
        letter = np.take_along_axis(free, (pick * (~taken).sum(1)[:, None].astype(np.float32)).astype(np.int64), 1)
        integer = rng.integers(0, self.integers, (n, count), dtype=np.int32)
        return self.vocabulary.pair(letter, self.letters + integer)

    def step(
        self, tokens: Int[np.ndarray, "n seq"], positions: Int[np.ndarray, "n"]
    ) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
        """Goes to the token before the position whose left letter is the right letter at the position."""
        wanted = self.vocabulary.right(tokens[np.arange(len(tokens)), positions])
        before = np.arange(tokens.shape[1]) < positions[:, None]
        match = before & (self.vocabulary.left(tokens) == wanted[:, None])  # [n, seq]
        there = match.argmax(1)
        other = match & (tokens != tokens[np.arange(len(tokens)), there][:, None])
        return there, match.any(1).astype(np.int64) + other.any(1)
