"""The vocabulary of the number task: symbols such as ``c`` and integers such as ``16`` (Appendix "Number Task")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.vocabulary.tokens import Vocabulary, integer_names


@dataclass(frozen=True)
class NumberVocabulary(Vocabulary):
    """Symbols a, b, .., z, aa, ab, .. first, then the integers from 1."""

    function = "index"
    pointer = "a number"
    label = "symbol"

    symbols: int
    integers: int

    @property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return _number_names(self.symbols, self.integers)

    def __len__(self) -> int:
        return self.symbols + self.integers

    def points(self, ids: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:  # noqa: D102
        return ids >= self.symbols

    def value(self, ids: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The number that an integer token stands for; 0 and below for symbols."""
        return ids - (self.symbols - 1)

    def integer(self, values: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """The ids of the integers ``values``, the inverse of :meth:`value`."""
        return values + (self.symbols - 1)

    def goals(self, tokens: Int[np.ndarray, "n seq"]) -> Int[np.ndarray, "n seq"]:  # noqa: D102
        there = np.arange(tokens.shape[1]) - self.value(tokens)
        return np.where(self.points(tokens), np.maximum(there, -1), -1)

    def requests(self, tokens: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:  # noqa: D102
        return np.maximum(self.value(tokens), 0) - 1

    @property
    def request_names(self) -> list[str]:  # noqa: D102
        return integer_names(self.integers)

    def request_for(  # noqa: D102
        self,
        tokens: Int[np.ndarray, "n seq"],  # noqa: ARG002
        starts: Int[np.ndarray, "n"],
        goals: Int[np.ndarray, "n"],
    ) -> Int[np.ndarray, "n"]:
        return starts - goals - 1

    def labels(self, tokens: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:  # noqa: D102
        return tokens

    @property
    def label_names(self) -> list[str]:  # noqa: D102
        return list(self.names)

    def same_meaning(  # noqa: D102
        self, tokens: Int[np.ndarray, "n seq"], positions: Int[np.ndarray, "n"]
    ) -> Bool[np.ndarray, "n seq"]:
        token = np.take_along_axis(tokens, positions[:, None], 1)
        itself = np.arange(tokens.shape[1]) == positions[:, None]
        return itself | ((tokens == token) & ~self.points(token))

    def alternatives(self, tokens: Int[np.ndarray, "n"]) -> Int[np.ndarray, "option n"]:  # noqa: D102
        integers = self.integer(np.arange(1, self.integers + 1, dtype=tokens.dtype))
        return np.repeat(integers[:, None], len(tokens), axis=1)

    def describe_hop(self, name: str) -> str:  # noqa: D102
        return f"{name} back"


@cache
def _number_names(symbols: int, integers: int) -> tuple[str, ...]:
    return (*map(_symbol, range(symbols)), *integer_names(integers))


def _symbol(index: int) -> str:
    """Names a .. z, aa .. az, ba ..: counting in base 26 without a zero."""
    index += 1
    name = ""
    while index:
        index, letter = divmod(index - 1, 26)
        name = ascii_lowercase[letter] + name
    return name
