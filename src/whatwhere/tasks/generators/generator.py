"""A generator of the letter task: it decides the roles of the letters of a sequence.

It draws the *role* of the letter on each side of each token; which letter plays which role is drawn afterwards, so that
no letter and no integer carries a hint. Role 0 is always the left letter of the answer.

Arrays are [position, n]: one operation handles one position of every sequence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.balance import running_count
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Each, LetterVocabulary

if TYPE_CHECKING:
    from whatwhere.tasks.letter import LetterTask

Role = np.int16
"""A small type, because memory bandwidth limits the speed here."""
ANSWER = 0


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles in each sequence."""

    left: Int[np.ndarray, "seq n"]
    right: Int[np.ndarray, "pointers n"]
    """The role that each pre-target token and the query point at."""
    integer: Int[np.ndarray, "target n"]
    """Right components of the target window, from 0, of any size; the prescribed one replaces the answer's."""
    visited: Bool[np.ndarray, "context n"]
    """Which pre-target tokens the path visits."""


class Generator(ABC):
    """How the letters of a sequence are drawn."""

    name: ClassVar[str]
    target_needed: ClassVar[int] = 1
    """The smallest target window."""
    spare_letters: ClassVar[int] = 1
    """Letters needed in addition to one for each hop; the first is for tokens that no pointer points at."""

    @staticmethod
    @abstractmethod
    def reserved(batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:
        """The letters that an extra target token must not have on its left."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, hops: Each, places: Each, task: LetterTask) -> Roles:
        """Draws the roles of one sequence for each hop count and place of the answer in the target window."""

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


def uniform(
    rng: np.random.Generator, shape: tuple[int, int], low: Each | int, high: int, kind: type[np.integer] = Role
) -> Int[np.ndarray, "positions n"]:
    """Uniform numbers from ``low``, which may differ from sequence to sequence, to below ``high``."""
    span = np.asarray(high - low, np.float32)
    return np.asarray(low, kind) + (rng.random(shape, dtype=np.float32) * span).astype(kind)


def write_path(
    visited: Bool[np.ndarray, "context n"],
    left: Int[np.ndarray, "seq n"],
    right: Int[np.ndarray, "pointers n"],
    first_link: int,
) -> None:
    """Writes the path into the roles: visited tokens are links, from left to right.

    The first link points at the answer, each later one at the link before it, and the query at the last.
    """
    pre_target = slice(len(left) - len(right), -1)
    links = running_count(visited)
    left[pre_target] = np.where(visited, first_link - 1 + links, left[pre_target])
    before = np.vstack([np.zeros_like(links[:1]), links])  # [pointers, n]: links to the left of each pointer
    tip = np.where(before > 0, first_link - 1 + before, ANSWER)
    right[:-1] = np.where(visited, tip[:-1], right[:-1])
    right[-1] = tip[-1]
