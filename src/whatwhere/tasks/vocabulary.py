"""Token ids and their names: ``c`` and ``16`` in the number task, ``c2`` and ``gk`` in the letter task.

Both tasks have two kinds of token (Appendix "Multi-hop task formalization"): *pointers* send one further back, and
everything else stays as it is and may be an answer. What the tasks do differently with a token, the vocabularies say:
what a pointer asks for, what a token is found by, and which ideal function (Index or Retrieval) follows pointers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice, product
from string import ascii_letters, ascii_lowercase
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.errors import WhatwhereError

Ids = Int[np.ndarray, "..."]
"""Token ids, or numbers about tokens, of any shape."""
Sequences = Int[np.ndarray, "n seq"]
"""Token ids of sequences, or one number for each of their tokens."""
Items = Int[np.ndarray, "n item"]
"""Ids of items: a pointer is one item, however many tokens spell it."""
Each = Int[np.ndarray, "n"]
"""One number for each sequence."""
Marks = Bool[np.ndarray, "n seq"]
"""Some tokens of sequences."""


ONE_CHARACTER = len(ascii_letters)
"""Letters whose name is one character: a..z, then A..Z. If there are more, every name has two: aa, ab, .."""
MOST_LETTERS = ONE_CHARACTER**2


def smallest_base(numbers: int, digits: int) -> int:
    """The smallest base in which so many digits write so many different numbers."""
    base = max(1, round(numbers ** (1 / digits)))
    return base if base**digits >= numbers else base + 1


def letter_names(letters: int, syllables: int = 1) -> list[str]:
    """Names of equal length, so that a pair of them is unambiguous.

    Args:
        letters: how many.
        syllables: of each name; where several tokens spell a letter, a syllable is the name of one.
    """
    base = smallest_base(letters, syllables)
    parts = list(ascii_letters[:base]) if base <= ONE_CHARACTER else letter_names(base, 2)
    return ["".join(word) for word in islice(product(parts, repeat=syllables), letters)]


class Vocabulary(ABC):
    """Names of token ids in both directions, and what tokens mean."""

    function: ClassVar[str]
    """The ideal function that follows pointers (Section 3.2): ``index`` or ``retrieval``."""
    pointer: ClassVar[str]
    """What a pointer is, in words."""
    label: ClassVar[str]
    """What :meth:`labels` are, in words."""

    @cached_property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The text of each token, by id."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def points(self, ids: Ids) -> Bool[np.ndarray, "..."]:
        """Whether a token sends one further back: an integer in the number task, two letters in the letter task."""

    @abstractmethod
    def goals(self, tokens: Sequences) -> Sequences:
        """The earlier position at which each pointer points; -1 for what does not point, or points at nothing.

        Where a right letter is the left letter of several tokens, it is the leftmost, as in the paper's listing.
        """

    @abstractmethod
    def requests(self, tokens: Ids) -> Ids:
        """What each pointer asks for, as an index into :attr:`request_names`; -1 for what does not point."""

    @property
    @abstractmethod
    def request_names(self) -> list[str]:
        """What a pointer can ask for: the integers, or the letters."""

    @abstractmethod
    def request_for(self, tokens: Sequences, starts: Each, goals: Each) -> Each:
        """What a pointer at ``starts`` would have to ask for to lead to ``goals``, as in :meth:`requests`."""

    def labels(self, tokens: Ids) -> Ids:
        """What tells one key from another, as an index into :attr:`label_names`: its token, or its left letter."""
        return tokens

    @property
    def label_names(self) -> list[str]:
        """What :meth:`labels` counts."""
        return list(self.names)

    @abstractmethod
    def same_meaning(self, tokens: Sequences, positions: Each) -> Marks:
        """Which tokens mean the same as the one at ``positions``: equal tokens, but an integer only itself."""

    @abstractmethod
    def alternatives(self, tokens: Each) -> Int[np.ndarray, "option n"]:
        """Every pointer that may replace each token: any integer; any pair with the same left letter."""

    @abstractmethod
    def describe_hop(self, name: str) -> str:
        """What the pointer of this name asks for, in words."""

    @cached_property
    def whole(self) -> Vocabulary:
        """The vocabulary in which a pointer is one token: this one, unless several tokens spell a pointer."""
        return self

    def read(self, tokens: Sequences) -> Sequences:
        """The id in :attr:`whole` of what ends at each position; -1 inside a pointer, and for one without meaning."""
        return tokens

    def spell(self, items: Items) -> Sequences:
        """The tokens of sequences of :attr:`whole`, the inverse of :meth:`read`."""
        return items

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def encode(self, text: Any) -> Int[np.ndarray, "seq"]:
        """Token ids of a text in which spaces stand between tokens, or of a list of token names."""
        words = text.split() if isinstance(text, str) else list(text) if isinstance(text, list | tuple) else None
        if words is None:
            raise WhatwhereError(f"expected a text or a list of token names, got {type(text).__name__}.")
        unknown = [word for word in words if not isinstance(word, str) or word not in self._ids]
        if unknown:
            raise WhatwhereError(
                f"expected tokens from {self.names[0]!r} to {self.names[-1]!r} with spaces between them, "
                f"got {unknown[0]!r}, which is none of these {len(self)}."
            )
        return np.array([self._ids[word] for word in words], dtype=np.int32)

    def decode(self, ids: Any) -> Any:
        """The text of token ids: an integer or a list of them gives one text, a list of sequences a list of texts.

        Args:
            ids: whole numbers, as a Python number, nested lists, a NumPy array or a tensor of at most two axes.
        """
        try:
            array = np.asarray(ids.detach().cpu() if hasattr(ids, "detach") else ids)
        except (ValueError, TypeError) as error:
            raise WhatwhereError(f"expected token ids in sequences of equal length, got {ids!r:.80}.") from error
        array = array.astype(int) if array.size == 0 else array
        if array.dtype.kind not in "iu" or array.ndim > 2:
            raise WhatwhereError(
                f"expected whole numbers with at most two axes (sequences, tokens), "
                f"got {array.dtype} of shape {array.shape}."
            )
        array = array.astype(np.int64)
        self.check(array)
        texts = [" ".join(self.names[i] for i in row) for row in np.atleast_2d(array)]
        return texts if array.ndim == 2 else texts[0]

    def check(self, ids: Ids) -> None:
        """Raises an error for ids outside the vocabulary."""
        wrong = (ids < 0) | (ids >= len(self))
        if wrong.any():
            raise WhatwhereError(f"expected token ids from 0 to {len(self) - 1}, got {ids[wrong][0]}.")


@dataclass(frozen=True)
class NumberVocabulary(Vocabulary):
    """Symbols a, b, .., z, aa, ab, .. first, then the integers from 1."""

    function = "index"
    pointer = "a number"
    label = "symbol"

    symbols: int
    integers: int

    @cached_property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        words = ("".join(word) for length in count(1) for word in product(ascii_lowercase, repeat=length))
        return (*islice(words, self.symbols), *self.request_names)

    def __len__(self) -> int:
        return self.symbols + self.integers

    def points(self, ids: Ids) -> Bool[np.ndarray, "..."]:  # noqa: D102
        return ids >= self.symbols

    def value(self, ids: Ids) -> Ids:
        """The number that an integer token stands for; 0 and below for symbols."""
        return ids - (self.symbols - 1)

    def integer(self, values: Ids) -> Ids:
        """The ids of the integers ``values``, the inverse of :meth:`value`."""
        return values + (self.symbols - 1)

    def goals(self, tokens: Sequences) -> Sequences:  # noqa: D102
        there = np.arange(tokens.shape[1]) - self.value(tokens)
        return np.where(self.points(tokens), np.maximum(there, -1), -1)

    def requests(self, tokens: Ids) -> Ids:  # noqa: D102
        return np.maximum(self.value(tokens), 0) - 1

    @property
    def request_names(self) -> list[str]:  # noqa: D102
        return [str(value) for value in range(1, self.integers + 1)]

    def request_for(self, tokens: Sequences, starts: Each, goals: Each) -> Each:  # noqa: ARG002, D102
        return starts - goals - 1

    def same_meaning(self, tokens: Sequences, positions: Each) -> Marks:  # noqa: D102
        token = np.take_along_axis(tokens, positions[:, None], 1)
        itself = np.arange(tokens.shape[1]) == positions[:, None]
        return itself | ((tokens == token) & ~self.points(token))

    def alternatives(self, tokens: Each) -> Int[np.ndarray, "option n"]:  # noqa: D102
        integers = self.integer(np.arange(1, self.integers + 1, dtype=tokens.dtype))
        return np.repeat(integers[:, None], len(tokens), axis=1)

    def describe_hop(self, name: str) -> str:  # noqa: D102
        return f"{name} back"


class LetteredVocabulary(Vocabulary):
    """Tokens have a left letter, by which they are found; the right letter of a pointer asks for one."""

    function = "retrieval"
    label = "left letter"

    @abstractmethod
    def left(self, ids: Ids) -> Ids:
        """The left letter, from 0."""

    @abstractmethod
    def right(self, ids: Ids) -> Ids:
        """The right letter of a pointer, from 0; no letter for others."""

    @abstractmethod
    def matches(self, tokens: Sequences) -> tuple[Sequences, Sequences]:
        """The leftmost position with each token's right letter as left letter, and that of a different such token.

        Both are the sequence length if there is none.
        """

    def goals(self, tokens: Sequences) -> Sequences:  # noqa: D102
        there, _ = self.matches(tokens)
        return np.where(there < np.arange(tokens.shape[1]), there, -1)

    def requests(self, tokens: Ids) -> Ids:  # noqa: D102
        return np.where(self.points(tokens), self.right(tokens), -1)

    def request_for(self, tokens: Sequences, starts: Each, goals: Each) -> Each:  # noqa: ARG002, D102
        return self.left(tokens[np.arange(len(tokens)), goals])

    def labels(self, tokens: Ids) -> Ids:  # noqa: D102
        return self.left(tokens)

    @property
    def label_names(self) -> list[str]:  # noqa: D102
        return self.request_names


@dataclass(frozen=True)
class LetterVocabulary(LetteredVocabulary):
    """Pairs: a left letter, and a right letter or integer; the id is ``left * (letters + integers) + right``.

    Right components below ``letters`` are letters, the others integers, so that the one-hot coordinates of the
    theorem's proof (Appendix, T_Retrieval) are exactly the ids.
    """

    pointer = "a pair of letters"

    letters: int
    integers: int
    syllables: int = 1
    """Of the name of a letter; see :func:`letter_names`."""

    @cached_property
    def names(self) -> tuple[str, ...]:  # noqa: D102
        rights = [*self.request_names, *map(str, range(1, self.integers + 1))]
        return tuple(left + right for left in self.request_names for right in rights)

    def __len__(self) -> int:
        return self.letters * self.width

    @property
    def width(self) -> int:
        """How many right components there are."""
        return self.letters + self.integers

    def left(self, ids: Ids) -> Ids:  # noqa: D102
        return ids // self.width

    def right(self, ids: Ids) -> Ids:
        """The right component: letters from 0, then integers from ``letters``."""
        return ids % self.width

    def points(self, ids: Ids) -> Bool[np.ndarray, "..."]:  # noqa: D102
        return self.right(ids) < self.letters

    def pair(self, left: Ids, right: Ids) -> Ids:
        """The id of a pair, the inverse of :meth:`left` and :meth:`right`."""
        return left * self.width + right

    def matches(self, tokens: Sequences) -> tuple[Sequences, Sequences]:
        """One pass for each letter, so the cost is linear in the length."""
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

    @property
    def request_names(self) -> list[str]:  # noqa: D102
        return letter_names(self.letters, self.syllables)

    def same_meaning(self, tokens: Sequences, positions: Each) -> Marks:  # noqa: D102
        return tokens == np.take_along_axis(tokens, positions[:, None], 1)

    def alternatives(self, tokens: Each) -> Int[np.ndarray, "option n"]:  # noqa: D102
        return self.pair(self.left(tokens), np.arange(self.letters, dtype=tokens.dtype)[:, None])

    def describe_hop(self, name: str) -> str:  # noqa: D102
        return f"to {name[len(name) // 2 :]}"
