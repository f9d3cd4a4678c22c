"""Pointers that several tokens spell: ``1 4`` is fourteen, ``g k`` the pair of g and k, ``ca db`` that of two letters.

The paper's vocabularies run out: integers must reach as far as the longest hop, and pairs of letters grow as the square
of the alphabet. Its authors name compositional vocabularies as the way to vary sequence length, hop length and
vocabulary size independently (Section 4). Here a pointer is a number, written by ``parts`` digits in some base:

- number task: the distance in tokens, so that 8 digits and two parts reach 63;
- letter task: ``left * base^(parts / 2) + right``, that is, each letter has half of the digits.

Answers stay one token. :meth:`Vocabulary.read` puts each pointer together at its last token, in the vocabulary of whole
pointers (:attr:`Vocabulary.whole`). There generators, oracles and ideal functions work as if nothing were spelled.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from jaxtyping import Bool

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.vocabulary import (
    Each,
    Ids,
    Items,
    LetterVocabulary,
    Marks,
    NumberVocabulary,
    Sequences,
    Vocabulary,
    letter_names,
    smallest_base,
)


class SpelledVocabulary(Vocabulary):
    """Tokens that may be answers first, then the digits."""

    parts: int
    """Digits of a pointer."""

    @cached_property
    @abstractmethod
    def whole(self) -> Vocabulary:
        """The vocabulary in which a pointer is one token."""

    @cached_property
    @abstractmethod
    def base(self) -> int:
        """How many digits there are."""

    @property
    @abstractmethod
    def answers(self) -> int:
        """How many tokens may be answers, and so the id of the first digit."""

    def answer(self, tokens: Ids) -> Ids:
        """The ids in :attr:`whole` of tokens that may be answers."""
        return tokens

    def token(self, answers: Ids) -> Ids:
        """The inverse of :meth:`answer`."""
        return answers

    @abstractmethod
    def written(self, numbers: Ids) -> Ids:
        """The ids in :attr:`whole` of the pointers that digits write; -1 for a number without meaning."""

    @abstractmethod
    def number(self, pointers: Ids) -> Ids:
        """The inverse of :meth:`written`."""

    def __len__(self) -> int:
        return self.answers + self.base

    def points(self, ids: Ids) -> Bool[np.ndarray, "..."]:
        """Whether a token is a digit."""
        return ids >= self.answers

    def read(self, tokens: Sequences) -> Sequences:  # noqa: D102
        digit = self.points(tokens)  # [n, seq]
        place = np.arange(tokens.shape[1])
        run = place - np.maximum.accumulate(np.where(digit, -1, place), 1)  # index within a run of digits, from 1
        ends = digit & (run % self.parts == 0)
        values = np.where(digit, tokens.astype(np.int64) - self.answers, 0)
        padded = np.pad(values, ((0, 0), (self.parts - 1, 0)))
        numbers = np.zeros_like(values)
        for part in range(self.parts):
            numbers = self.base * numbers + padded[:, part : part + tokens.shape[1]]
        found = np.where(ends, self.written(numbers), np.where(digit, -1, self.answer(tokens)))
        return found.astype(tokens.dtype)

    def spell(self, items: Items) -> Sequences:  # noqa: D102
        points = self.whole.points(items)  # [n, item]
        assert (points == points[:1]).all(), "all sequences have their pointers at the same items"
        numbers = self.number(items)
        columns = []
        for item in range(items.shape[1]):
            if points[0, item]:
                powers = self.base ** np.arange(self.parts - 1, -1, -1)
                columns.append(self.answers + numbers[:, item, None] // powers % self.base)
            else:
                columns.append(self.token(items[:, item, None]))
        return np.concatenate(columns, 1).astype(items.dtype)

    def goals(self, tokens: Sequences) -> Sequences:
        """From the last token of a pointer to the last token of an item."""
        items = self.read(tokens)
        there = self.whole.goals(items)
        return np.where(np.take_along_axis(items, np.maximum(there, 0), 1) < 0, -1, there)

    def requests(self, tokens: Ids) -> NoReturn:
        """Not defined: a single token of a pointer asks for nothing."""
        self._refuse(tokens)

    @property
    def request_names(self) -> list[str]:  # noqa: D102
        return self.whole.request_names

    def request_for(self, tokens: Sequences, starts: Each, goals: Each) -> Each:  # noqa: D102
        return self.whole.request_for(self.read(tokens), starts, goals)

    def same_meaning(self, tokens: Sequences, positions: Each) -> Marks:
        """By whole items, each at its last token."""
        return self.whole.same_meaning(self.read(tokens), positions)

    def alternatives(self, tokens: Each) -> NoReturn:
        """Not defined: another digit makes another pointer, with another left letter too."""
        self._refuse(tokens)

    def describe_hop(self, name: str) -> str:
        """By the name of a whole pointer."""
        return self.whole.describe_hop(name)

    def _refuse(self, tokens: Ids) -> NoReturn:
        raise WhatwhereError(
            f"expected pointers of one token, got {tokens.size} tokens of pointers that {self.parts} spell; read them "
            "as a whole first, with vocabulary.read."
        )


@dataclass(frozen=True)
class SpelledNumbers(SpelledVocabulary):
    """Symbols a, b, .. and the digits 0 .. digits - 1; the first digit of a number counts most."""

    function = NumberVocabulary.function
    pointer = NumberVocabulary.pointer
    label = NumberVocabulary.label

    symbols: int
    digits: int
    parts: int

    @cached_property
    def whole(self) -> NumberVocabulary:  # noqa: D102
        return NumberVocabulary(self.symbols, self.digits**self.parts - 1)

    @cached_property
    def base(self) -> int:  # noqa: D102
        return self.digits

    @property
    def answers(self) -> int:  # noqa: D102
        return self.symbols

    @cached_property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        return (*NumberVocabulary(self.symbols, 0).names, *map(str, range(self.digits)))

    def written(self, numbers: Ids) -> Ids:
        """Zero positions back is nowhere."""
        return np.where(numbers > 0, self.whole.integer(numbers), -1)

    def number(self, pointers: Ids) -> Ids:  # noqa: D102
        return self.whole.value(pointers)


@dataclass(frozen=True)
class SpelledLetters(SpelledVocabulary):
    """Letter-integer pairs, ``left * integers + integer``, then the letters, or the syllables that spell them."""

    function = LetterVocabulary.function
    pointer = LetterVocabulary.pointer
    label = LetterVocabulary.label

    letters: int
    integers: int
    parts: int

    @cached_property
    def whole(self) -> LetterVocabulary:  # noqa: D102
        return LetterVocabulary(self.letters, self.integers, self.parts // 2)

    @cached_property
    def base(self) -> int:  # noqa: D102
        return smallest_base(self.letters, self.parts // 2)

    @property
    def answers(self) -> int:  # noqa: D102
        return self.letters * self.integers

    @cached_property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        pairs = (f"{left}{value}" for left in self.request_names for value in range(1, self.integers + 1))
        return (*pairs, *letter_names(self.base))

    def answer(self, tokens: Ids) -> Ids:  # noqa: D102
        return self.whole.pair(tokens // self.integers, self.letters + tokens % self.integers)

    def token(self, answers: Ids) -> Ids:  # noqa: D102
        return self.whole.left(answers) * self.integers + self.whole.right(answers) - self.letters

    @property
    def _half(self) -> int:
        """How many numbers the digits of one letter write."""
        return self.base ** (self.parts // 2)

    def written(self, numbers: Ids) -> Ids:
        """The digits may write more letters than there are."""
        left, right = numbers // self._half, numbers % self._half
        return np.where(np.maximum(left, right) < self.letters, self.whole.pair(left, right), -1)

    def number(self, pointers: Ids) -> Ids:  # noqa: D102
        return self.whole.left(pointers).astype(np.int64) * self._half + self.whole.right(pointers)

    def labels(self, tokens: Ids) -> Ids:
        """The left letter of a pair; -1 for a token of a pointer, which has none alone."""
        return np.where(self.points(tokens), -1, tokens // self.integers)

    @property
    def label_names(self) -> list[str]:  # noqa: D102
        return self.whole.label_names
