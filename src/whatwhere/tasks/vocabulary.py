"""Token ids and what people read: ``c`` and ``16`` in the number task, ``c2`` and ``gk`` in the letter task.

Both tasks have two kinds of token (Appendix "Multi-hop task formalization"): *pointers* send one further back, and
everything else stays as it is and may be an answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property
from string import ascii_letters, ascii_lowercase

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory

MOST_LETTERS = len(ascii_letters)
"""Letters of the letter task: a..z, then A..Z, so that a pair of them always reads in one way."""


class Vocabulary(ABC):
    """Names of token ids, in both directions."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The text of each token, by id."""

    @abstractmethod
    def points(self, ids: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether a token sends one further back: an integer in the number task, two letters in the letter task."""

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, text: str) -> Int[np.ndarray, "seq"]:
        """Token ids of a text in which spaces stand between tokens.

        Raises:
            WhatwhereError: a word is not a token of this vocabulary.
        """
        words = text.split()
        unknown = [word for word in words if word not in self._ids]
        if unknown:
            raise WhatwhereError(
                f"tokens from {self.names[0]!r} to {self.names[-1]!r} with spaces between them were expected, "
                f"and {unknown[0]!r} is none of these {len(self)}."
            )
        return np.array([self._ids[word] for word in words], dtype=np.int32)

    def decode(self, ids: Int[np.ndarray, "seq"]) -> str:
        """The text of some token ids, with spaces between them.

        Raises:
            WhatwhereError: an id is outside the vocabulary.
        """
        self.check(ids)
        return " ".join(self.names[i] for i in ids)

    def check(self, ids: Int[np.ndarray, "..."]) -> None:
        """Refuses ids outside the vocabulary."""
        wrong = (ids < 0) | (ids >= len(self))
        if wrong.any():
            raise WhatwhereError(f"token ids from 0 to {len(self) - 1} were expected, and {ids[wrong][0]} arrived.")


@dataclass(frozen=True)
class NumberVocabulary(Vocabulary):
    """Symbols a, b, .., z, aa, ab, .. first, then the integers from 1."""

    symbols: int
    integers: int

    @property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return _number_names(self.symbols, self.integers)

    def points(self, ids: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:  # noqa: D102
        return ids >= self.symbols

    def value(self, ids: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The number that an integer token stands for; 0 and below for symbols."""
        return ids - (self.symbols - 1)

    def integer(self, values: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The ids of the integers ``values``, the inverse of :meth:`value`."""
        return values + (self.symbols - 1)


@cache
def _number_names(symbols: int, integers: int) -> tuple[str, ...]:
    _require_memory(symbols + integers)
    return (*map(_symbol, range(symbols)), *_integer_names(integers))


def _symbol(index: int) -> str:
    """Names a .. z, aa .. az, ba ..: counting in base 26 without a zero."""
    index += 1
    name = ""
    while index:
        index, letter = divmod(index - 1, 26)
        name = ascii_lowercase[letter] + name
    return name


@dataclass(frozen=True)
class LetterVocabulary(Vocabulary):
    """Pairs: a left letter, and a right letter or integer; the id is ``left * (letters + integers) + right``.

    Right components below ``letters`` are letters, the others integers, so that the one-hot coordinates of the
    theorem's proof (Appendix, T_Retrieval) are exactly the ids.
    """

    letters: int
    integers: int

    @property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return _letter_names(self.letters, self.integers)

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


@cache
def _letter_names(letters: int, integers: int) -> tuple[str, ...]:
    _require_memory(letters * (letters + integers))
    lefts = ascii_letters[:letters]
    return tuple(left + right for left in lefts for right in (*lefts, *_integer_names(integers)))


def _require_memory(tokens: int) -> None:
    memory.require(120 * tokens, f"a vocabulary of {tokens:,} tokens")  # two short strings and an entry each


def _integer_names(integers: int) -> list[str]:
    return [str(i + 1) for i in range(integers)]
