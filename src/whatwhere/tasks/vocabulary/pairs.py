"""The vocabulary of the letter task: pairs such as ``c2`` and ``gk`` (Appendix "Letter task")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from string import ascii_letters

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.vocabulary.tokens import Vocabulary, integer_names

MOST_LETTERS = len(ascii_letters)
"""Letters of the letter task: a..z, then A..Z, so that a pair of them can be read in one manner only."""


@dataclass(frozen=True)
class LetterVocabulary(Vocabulary):
    """Pairs: a left letter, and a right letter or integer; the id is ``left * (letters + integers) + right``.

    Right components below ``letters`` are letters, the others integers, so that the one-hot coordinates of the
    theorem's proof (Appendix, T_Retrieval) are exactly the ids.
    """

    function = "retrieval"
    pointer = "a pair of letters"
    label = "left letter"

    letters: int
    integers: int

    @property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return _letter_names(self.letters, self.integers)

    def __len__(self) -> int:
        return self.letters * self.width

    @property
    def width(self) -> int:
        """How many right components there are."""
        return self.letters + self.integers

    def left(self, ids: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The left letter, from 0."""
        return ids // self.width

    def right(self, ids: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The right component: letters from 0, then integers from ``letters``."""
        return ids % self.width

    def points(self, ids: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:  # noqa: D102
        return self.right(ids) < self.letters

    def pair(self, left: Int[np.ndarray, "..."], right: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The id of a pair, the inverse of :meth:`left` and :meth:`right`."""
        return left * self.width + right

    def matches(self, tokens: Int[np.ndarray, "n seq"]) -> tuple[Int[np.ndarray, "n seq"], Int[np.ndarray, "n seq"]]:
        """The leftmost position with each token's right letter as left letter, and that of a different such token.

        Both are the sequence length if there is none. One pass for each letter, so the cost is linear in the length.
        """
        length = tokens.shape[1]
        left, right = self.left(tokens), self.right(tokens)
        there, other = np.full((2, *tokens.shape), length)
        for letter in range(self.letters):
            here = left == letter  # [n, seq]
            first = here.argmax(1)[:, None]
            differs = here & (tokens != np.take_along_axis(tokens, first, 1))
            asked = (right == letter) & here.any(1, keepdims=True)
            there = np.where(asked, first, there)
            other = np.where(asked & differs.any(1, keepdims=True), differs.argmax(1)[:, None], other)
        return there, other

    def goals(self, tokens: Int[np.ndarray, "n seq"]) -> Int[np.ndarray, "n seq"]:  # noqa: D102
        there, _ = self.matches(tokens)
        return np.where(there < np.arange(tokens.shape[1]), there, -1)

    def requests(self, tokens: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:  # noqa: D102
        return np.where(self.points(tokens), self.right(tokens), -1)

    @property
    def request_names(self) -> list[str]:  # noqa: D102
        return list(ascii_letters[: self.letters])

    def request_for(  # noqa: D102
        self,
        tokens: Int[np.ndarray, "n seq"],
        starts: Int[np.ndarray, "n"],  # noqa: ARG002
        goals: Int[np.ndarray, "n"],
    ) -> Int[np.ndarray, "n"]:
        return self.left(tokens[np.arange(len(tokens)), goals])

    def labels(self, tokens: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:  # noqa: D102
        return self.left(tokens)

    @property
    def label_names(self) -> list[str]:  # noqa: D102
        return self.request_names

    def same_meaning(  # noqa: D102
        self, tokens: Int[np.ndarray, "n seq"], positions: Int[np.ndarray, "n"]
    ) -> Bool[np.ndarray, "n seq"]:
        return tokens == np.take_along_axis(tokens, positions[:, None], 1)

    def alternatives(self, tokens: Int[np.ndarray, "n"]) -> Int[np.ndarray, "option n"]:  # noqa: D102
        return self.pair(self.left(tokens), np.arange(self.letters, dtype=tokens.dtype)[:, None])

    def describe_hop(self, name: str) -> str:  # noqa: D102
        return f"to {name[1]}"


@cache
def _letter_names(letters: int, integers: int) -> tuple[str, ...]:
    lefts = ascii_letters[:letters]
    return tuple(left + right for left in lefts for right in (*lefts, *integer_names(integers)))
