"""The generators that hide the answer less well than ``decoy``: the authors' data, and two for special purposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Int

from whatwhere.tasks.balance import random_subset, running_count
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.generators.decoy import DECOYS
from whatwhere.tasks.generators.generator import (
    ANSWER,
    Generator,
    Role,
    Roles,
    letters_of_path,
    letters_pointed_at,
    uniform,
    write_path,
)
from whatwhere.tasks.vocabulary import Each, LetterVocabulary

if TYPE_CHECKING:
    from whatwhere.tasks.letter import LetterTask


class Paper(Generator):
    """The authors' data: no token off the path points at a letter of the path, or has one on its left.

    Roles 0 .. hops-1 are the letters of the path; every letter off it is drawn from the others, with replacement. That
    leaks the answer; docs/tasks.md measures how much.
    """

    name: ClassVar[str] = "paper"
    reserved = staticmethod(letters_of_path)

    def draw(self, rng: np.random.Generator, hops: Each, places: Each, task: LetterTask) -> Roles:  # noqa: D102
        n, target, context = len(hops), task.target, task.context
        left, right = (uniform(rng, (rows, n), hops, task.letters) for rows in (target + context + 1, context + 1))
        left[places, np.arange(n)] = ANSWER
        visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
        write_path(visited, left, right, first_link=1)
        return Roles(left, right, uniform(rng, (target, n), 0, task.integers, np.int32), visited)


class Simple(Generator):
    """For chains of any length: with 8 letters ``decoy`` has room for four hops, this one for seven.

    The mechanism study asks a model for more hops than it was trained on (docs/mechanism.md). Role 0 is the answer,
    then up to two decoys, one link for each further hop, and the letters that no pointer points at.
    """

    name: ClassVar[str] = "simple"
    reserved = staticmethod(letters_pointed_at)

    def decoys(self, task: LetterTask) -> int:
        """Target tokens that look like the answer: what the alphabet leaves, two at most."""
        return min(DECOYS, task.letters - task.max_hops - 1, task.target - 1)

    def draw(self, rng: np.random.Generator, hops: Each, places: Each, task: LetterTask) -> Roles:  # noqa: D102
        n, target, context = len(hops), task.target, task.context
        decoys = self.decoys(task)
        left = uniform(rng, (target + context + 1, n), decoys + task.max_hops, task.letters)
        right = uniform(rng, (context + 1, n), 0, 1 + decoys)  # off the path: at the answer or a decoy
        decoy = random_subset(rng, np.arange(target)[:, None] != places, np.full(n, decoys))
        left[:target] = np.where(decoy, running_count(decoy), left[:target])
        left[places, np.arange(n)] = ANSWER
        visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
        write_path(visited, left, right, first_link=1 + decoys)
        return Roles(left, right, uniform(rng, (target, n), 0, task.integers, np.int32), visited)


class Strict(Generator):
    """For the theory: equal left letters mean equal tokens everywhere in a sequence. It leaks the answer.

    Under this condition Theorem 1 holds for Retrieval without a tie (erratum E4). Roles 1 .. max_hops-1 are links, then
    the query's, then half the rest target letters and half pointers.
    """

    name: ClassVar[str] = "strict"
    target_needed: ClassVar[int] = 2
    spare_letters: ClassVar[int] = 3  # the query's, and one more on each side
    reserved = staticmethod(letters_of_path)

    def extra(
        self, rng: np.random.Generator, batch: Batch, vocabulary: LetterVocabulary, count: int
    ) -> Int[np.ndarray, "n extra"]:
        """Copies of the target tokens beside the answer: any other token would share a left letter with one."""
        answer = np.take_along_axis(batch.paths, batch.hops[:, None], 1)
        target = ((batch.tokens >= 0) & ~vocabulary.points(batch.tokens)).sum(1, keepdims=True)  # -1: inside a pointer
        place = (rng.random((len(batch), count), dtype=np.float32) * (target - 1)).astype(np.int32)
        return np.take_along_axis(batch.tokens, place + (place >= answer), 1)

    def draw(self, rng: np.random.Generator, hops: Each, places: Each, task: LetterTask) -> Roles:  # noqa: D102
        letters, target, context = task.letters, task.target, task.context
        n, rows, query = len(hops), np.arange(len(hops)), task.max_hops
        first_pointer = query + 1 + (letters - query) // 2
        left = np.empty((target + context + 1, n), Role)
        left[:target] = uniform(rng, (target, n), query + 1, first_pointer)
        left[places, rows] = ANSWER
        # One token for each letter: its integer, or the target token that it points at.
        integer_of = uniform(rng, (letters, n), 0, task.integers, np.int32)
        goal_of = left[uniform(rng, (letters, n), 0, target), rows]
        visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
        left[target:-1] = uniform(rng, (context, n), first_pointer, letters)
        left[-1] = query
        right = goal_of[left[target:], rows]
        write_path(visited, left, right, first_link=1)
        return Roles(left, right, integer_of[left[:target], rows], visited)
