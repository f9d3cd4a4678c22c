"""A generator of the letter task: it decides who is who among the letters of a sequence.

It draws the *role* of the letter on each side of each token; which letter plays which role is drawn afterwards, so that
no letter and no integer carries a hint. Role 0 is always the left letter of the answer.

Arrays are [position, n]: one operation handles one position of every sequence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import LetterVocabulary

Role = np.int16
"""Small, since the speed here is that of memory."""
ANSWER = 0


@dataclass(frozen=True)
class Sizes:
    """The sizes of the letter task that a generator must fit."""

    letters: int
    integers: int
    target: int
    context: int
    max_hops: int


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles in each sequence."""

    left: Int[np.ndarray, "seq n"]
    right: Int[np.ndarray, "pointers n"]
    """The role that each pre-target token and the query point at."""
    integer: Int[np.ndarray, "target n"]
    """Right components of the target window, from 0; the prescribed one replaces the answer's."""
    visited: Bool[np.ndarray, "context n"]
    """Which pre-target tokens the path visits."""


class Generator(ABC):
    """How the letters of a sequence are drawn."""

    name: ClassVar[str]
    target_needed: ClassVar[int]
    """The smallest target window."""

    @abstractmethod
    def letters_needed(self, max_hops: int) -> int:
        """The smallest alphabet for so many hops."""

    @abstractmethod
    def draw(
        self, rng: np.random.Generator, hops: Int[np.ndarray, "n"], places: Int[np.ndarray, "n"], sizes: Sizes
    ) -> Roles:
        """Draws the roles of one sequence for each hop count and place of the answer in the target window."""

    @abstractmethod
    def reserved(self, batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:
        """The letters that an extra target token must not have on its left."""

    def extra(
        self, rng: np.random.Generator, batch: Batch, vocabulary: LetterVocabulary, count: int
    ) -> Int[np.ndarray, "n extra"]:
        """Draws more target tokens for each sequence: any integer on any letter that is not reserved."""
        pick = rng.random((len(batch), count), dtype=np.float32)
        reserved = self.reserved(batch, vocabulary)
        allowed = np.argsort(reserved, axis=1, kind="stable")  # the letters that may be used, first
        choice = (pick * (~reserved).sum(1)[:, None].astype(np.float32)).astype(np.int64)
        integer = rng.integers(0, vocabulary.integers, (len(batch), count), dtype=np.int32)
        return vocabulary.pair(np.take_along_axis(allowed, choice, 1), vocabulary.letters + integer)


def letters_of_path(batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:
    """The left letters of the tokens that the path visits, the answer included."""
    end = np.take_along_axis(batch.paths, batch.hops[:, None], 1)
    visited = np.where(batch.paths < 0, end, batch.paths)[:, 1:]
    found = np.zeros((len(batch), vocabulary.letters), bool)
    np.put_along_axis(found, vocabulary.left(np.take_along_axis(batch.tokens, visited, 1)), True, 1)
    return found


def letters_pointed_at(batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:
    """The right letters of all pointers."""
    found = np.zeros((len(batch), vocabulary.width), bool)
    np.put_along_axis(found, vocabulary.right(batch.tokens), True, 1)
    return found[:, : vocabulary.letters]


def uniform_roles(
    rng: np.random.Generator, rows: int, low: Int[np.ndarray, "n"], high: int
) -> Int[np.ndarray, "rows n"]:
    """Some rows of uniform roles from ``low``, which differs from sequence to sequence, to below ``high``."""
    span = (high - low).astype(np.float32)
    return low.astype(Role) + (rng.random((rows, len(low)), dtype=np.float32) * span).astype(Role)


def uniform_integers(rng: np.random.Generator, sizes: Sizes, n: int) -> Int[np.ndarray, "target n"]:
    """The integers of a target window, from 0."""
    return (rng.random((sizes.target, n), dtype=np.float32) * sizes.integers).astype(np.int32)
