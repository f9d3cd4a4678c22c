"""Token ids of the both task: pairs such as ``c2`` may be answers, triples such as ``gk7`` point.

A triple holds a left letter, a right letter and a distance: ``gk7`` asks for the token whose left letter is k, and for
the token 7 back. Without its distance it is a token of the letter task, without its letters one of the number task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from string import ascii_letters

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.vocabulary import (
    Each,
    Ids,
    LetteredVocabulary,
    LetterVocabulary,
    Marks,
    NumberVocabulary,
    Sequences,
)


@dataclass(frozen=True)
class BothVocabulary(LetteredVocabulary):
    """Pairs first, ``left * integers + integer``; then triples, by left letter, right letter and distance.

    Pointers are followed by their letters: one that is copied elsewhere keeps their meaning, not that of its distance.
    """

    pointer = "two letters and a distance"

    letters: int
    integers: int
    """Of pairs."""
    distances: int
    """Of triples: 1 .. distances."""

    @cached_property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        letters = self.request_names
        pairs = (f"{left}{integer}" for left in letters for integer in range(1, self.integers + 1))
        triples = (
            f"{left}{right}{back}" for left in letters for right in letters for back in range(1, self.distances + 1)
        )
        return (*pairs, *triples)

    def __len__(self) -> int:
        return self.pairs + self.letters * self.letters * self.distances

    @property
    def pairs(self) -> int:
        """How many pairs there are, and so the id of the first triple."""
        return self.letters * self.integers

    @cached_property
    def as_letters(self) -> LetterVocabulary:
        """The vocabulary of :meth:`letter_tokens`."""
        return LetterVocabulary(self.letters, self.integers)

    @cached_property
    def as_numbers(self) -> NumberVocabulary:
        """The vocabulary of :meth:`number_tokens`."""
        return NumberVocabulary(self.pairs, self.distances)

    def points(self, ids: Ids) -> Bool[np.ndarray, "..."]:  # noqa: D102
        return ids >= self.pairs

    def left(self, ids: Ids) -> Ids:  # noqa: D102
        row = (ids - self.pairs) // (self.distances * self.letters)
        return np.where(self.points(ids), row, ids // self.integers)

    def right(self, ids: Ids) -> Ids:
        """The right letter of a triple, from 0; -1 for a pair."""
        return np.where(self.points(ids), (ids - self.pairs) // self.distances % self.letters, -1)

    def distance(self, ids: Ids) -> Ids:
        """The distance of a triple, from 1; 0 for a pair."""
        return np.where(self.points(ids), (ids - self.pairs) % self.distances + 1, 0)

    def triple(self, left: Ids, right: Ids, distance: Ids) -> Ids:
        """The id of a triple, the inverse of :meth:`left`, :meth:`right` and :meth:`distance`."""
        return self.pairs + (left * self.letters + right) * self.distances + distance - 1

    def letter_tokens(self, ids: Ids) -> Ids:
        """The same tokens in the letter task: triples lose their distance."""
        right = np.where(self.points(ids), self.right(ids), self.letters + ids % self.integers)
        return self.as_letters.pair(self.left(ids), right).astype(ids.dtype)

    def number_tokens(self, ids: Ids) -> Ids:
        """The same tokens in the number task: triples are their distance, and each pair is a symbol."""
        return np.where(self.points(ids), self.as_numbers.integer(self.distance(ids)), ids).astype(ids.dtype)

    def from_letters(self, tokens: Sequences) -> Sequences:
        """Tokens of the letter task, with the distance to where each pointer points.

        Every pointer must point at something before it; the generator ``decoy`` sees to it.
        """
        known = self.as_letters
        left, right = known.left(tokens), known.right(tokens)
        back = np.arange(tokens.shape[1]) - known.goals(tokens)
        return np.where(
            known.points(tokens), self.triple(left, right, back), left * self.integers + right - self.letters
        )

    def matches(self, tokens: Sequences) -> tuple[Sequences, Sequences]:  # noqa: D102
        return self.as_letters.matches(self.letter_tokens(tokens))

    @property
    def request_names(self) -> list[str]:  # noqa: D102
        return list(ascii_letters[: self.letters])

    def same_meaning(self, tokens: Sequences, positions: Each) -> Marks:  # noqa: D102
        return self.as_letters.same_meaning(self.letter_tokens(tokens), positions)

    def alternatives(self, tokens: Each) -> Int[np.ndarray, "option n"]:  # noqa: D102
        each = self.letters * self.distances  # triples of a left letter
        return self.pairs + self.left(tokens) * each + np.arange(each, dtype=tokens.dtype)[:, None]

    def describe_hop(self, name: str) -> str:  # noqa: D102
        return f"to {name[1]}, {name[2:]} back"
