"""Chains of any length: a plain generator that needs fewer letters than ``decoy``, and hides the answer less well.

The mechanism study asks a model for more hops than it was trained on (docs/mechanism.md). With 8 letters ``decoy`` has
room for four hops, this one for seven.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.balance import random_subset, running_count
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.generators.decoy import DECOYS
from whatwhere.tasks.generators.generator import (
    ANSWER,
    Generator,
    Role,
    Roles,
    Sizes,
    letters_pointed_at,
    uniform_integers,
    uniform_roles,
)
from whatwhere.tasks.vocabulary import LetterVocabulary


class Simple(Generator):
    """Role 0 is the answer, then up to two decoys, one link for each further hop, and the letters nobody points at."""

    name: ClassVar[str] = "simple"
    target_needed: ClassVar[int] = 1

    def letters_needed(self, max_hops: int) -> int:
        """One for each hop, and one for all other tokens."""
        return max_hops + 1

    def decoys(self, sizes: Sizes) -> int:
        """Target tokens that look like the answer: what the alphabet leaves, two at most."""
        return min(DECOYS, sizes.letters - sizes.max_hops - 1, sizes.target - 1)

    def reserved(self, batch: Batch, vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n letters"]:  # noqa: D102
        return letters_pointed_at(batch, vocabulary)

    def draw(  # noqa: D102
        self, rng: np.random.Generator, hops: Int[np.ndarray, "n"], places: Int[np.ndarray, "n"], sizes: Sizes
    ) -> Roles:
        n, target, context = len(hops), sizes.target, sizes.context
        decoys = self.decoys(sizes)
        left = uniform_roles(rng, target + context + 1, np.full(n, decoys + sizes.max_hops), sizes.letters)
        right = uniform_roles(rng, context + 1, np.zeros(n, int), 1 + decoys)  # off the path: at the answer or a decoy
        decoy = random_subset(rng, np.arange(target)[:, None] != places, np.full(n, decoys))
        left[:target] = np.where(decoy, running_count(decoy), left[:target])
        left[places, np.arange(n)] = ANSWER
        visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
        tip, links = np.zeros((2, n), Role)  # what the next token of the path points at, and the links so far
        for c, here in enumerate(visited):
            links += here
            left[target + c] = np.where(here, decoys + links, left[target + c])
            right[c] = np.where(here, tip, right[c])
            tip = np.where(here, decoys + links, tip)
        right[context] = tip
        return Roles(left, right, uniform_integers(rng, sizes, n), visited)
