"""The authors' data: no token off the path points at a letter of the path, or has one on its left.

That leaks the answer; docs/tasks.md measures how much.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.balance import random_subset
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.generators.generator import (
    ANSWER,
    Generator,
    Role,
    Roles,
    Sizes,
    letters_of_path,
    uniform_integers,
    uniform_roles,
)
from whatwhere.tasks.vocabulary import LetterVocabulary


class Paper(Generator):
    """Roles 0 .. hops-1 are the letters of the path; every letter off it is drawn from the others, with replacement."""

    name: ClassVar[str] = "paper"
    target_needed: ClassVar[int] = 1

    def letters_needed(self, max_hops: int) -> int:
        """Those of the path, and one for all other tokens."""
        return max_hops + 1

    def reserved(self, batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:  # noqa: D102
        return letters_of_path(batch, vocabulary)

    def draw(  # noqa: D102
        self, rng: np.random.Generator, hops: Int[np.ndarray, "n"], places: Int[np.ndarray, "n"], sizes: Sizes
    ) -> Roles:
        n, target, context = len(hops), sizes.target, sizes.context
        left, right = (uniform_roles(rng, rows, hops, sizes.letters) for rows in (target + context + 1, context + 1))
        left[places, np.arange(n)] = ANSWER
        visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
        tip = np.full(n, ANSWER, Role)  # what the next token of the path points at; links count from role 1
        for c in range(context):
            left[target + c] = np.where(visited[c], tip + 1, left[target + c])
            right[c] = np.where(visited[c], tip, right[c])
            tip += visited[c]
        right[context] = tip
        return Roles(left, right, uniform_integers(rng, sizes, n), visited)
