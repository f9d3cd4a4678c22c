"""A generator for the theory: equal left letters mean equal tokens everywhere in a sequence.

Under this condition Theorem 1 holds for Retrieval without a tie (erratum E4). It leaks the answer.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.balance import below, random_subset
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.generators.generator import ANSWER, Generator, Role, Roles, Sizes, letters_of_path
from whatwhere.tasks.vocabulary import LetterVocabulary


class Strict(Generator):
    """Roles 1 .. max_hops-1 are links, then the query's, then half the rest target letters and half pointers."""

    name: ClassVar[str] = "strict"
    target_needed: ClassVar[int] = 2

    def letters_needed(self, max_hops: int) -> int:
        """The path's, the query's, and one more on each side."""
        return max_hops + 3

    def reserved(self, batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:  # noqa: D102
        return letters_of_path(batch, vocabulary)

    def extra(
        self, rng: np.random.Generator, batch: Batch, vocabulary: LetterVocabulary, count: int
    ) -> Int[np.ndarray, "n extra"]:
        """Copies of the target tokens beside the answer: any other token would share a left letter with one."""
        answer = np.take_along_axis(batch.paths, batch.hops[:, None], 1)
        target = (~vocabulary.points(batch.tokens)).sum(1, keepdims=True)
        place = (rng.random((len(batch), count), dtype=np.float32) * (target - 1)).astype(np.int32)
        return np.take_along_axis(batch.tokens, place + (place >= answer), 1)

    def draw(  # noqa: D102
        self, rng: np.random.Generator, hops: Int[np.ndarray, "n"], places: Int[np.ndarray, "n"], sizes: Sizes
    ) -> Roles:
        letters, target, context = sizes.letters, sizes.target, sizes.context
        n, rows, query = len(hops), np.arange(len(hops)), sizes.max_hops
        first_target, first_pointer = query + 1, query + 1 + (letters - query) // 2
        left = np.empty((target + context + 1, n), Role)
        right = np.empty((context + 1, n), Role)

        for p in range(target):
            left[p] = np.where(places == p, ANSWER, first_target + below(rng, first_pointer - first_target, n))
        # One token for each letter: its integer, or the target token that it points at.
        integer_of = (rng.random((letters, n), dtype=np.float32) * sizes.integers).astype(np.int32)
        goal_of = left[(rng.random((letters, n), dtype=np.float32) * target).astype(Role), rows]

        visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
        tip = np.full(n, ANSWER, Role)  # what the next token of the path points at; links count from role 1
        for c in range(context):
            pointer = first_pointer + below(rng, letters - first_pointer, n)
            left[target + c] = np.where(visited[c], tip + 1, pointer)
            right[c] = np.where(visited[c], tip, goal_of[pointer, rows])
            tip += visited[c]
        left[target + context] = query
        right[context] = tip
        return Roles(left, right, integer_of[left[:target], rows], visited)
