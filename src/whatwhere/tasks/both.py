"""The both task: each pointer gives both *what* and *where*, so a model can solve it by either.

It is a sequence of the letter task (generator ``decoy``) in which each pointer also has the distance to the token that
its right letter names. In training both cues point at the same place. On a *conflict* input they do not: letters and
distances lead to different answers by the same number of hops, and the answer of a model shows which cue it follows.

The paper names training that prefers symbolic solutions as future work (Section 4); ``whatwhere preference`` asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int, Int32

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.balance import below, random_subset
from whatwhere.tasks.batch import Batch, paths_through
from whatwhere.tasks.both_vocabulary import BothVocabulary
from whatwhere.tasks.generators.decoy import DECOYS, Decoy
from whatwhere.tasks.letter import LetterTask
from whatwhere.tasks.number import NumberTask
from whatwhere.tasks.task import Built, Task, random_streams
from whatwhere.tasks.vocabulary import ONE_CHARACTER, Each, Sequences

LAST, EVERY = "last", "every"
WHERE = (LAST, EVERY)
"""On which hops of a conflict input the cues disagree."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """Inputs on which letters and distances lead to different answers."""

    batch: Batch
    """With the answers and paths that the letters give: the symbolic reading."""
    positional: Int32[np.ndarray, "n"]
    """The answers that the distances give."""
    positional_paths: Int32[np.ndarray, "n visited"]
    """The positions that they visit, as in :attr:`Batch.paths`."""


@dataclass(frozen=True, kw_only=True)
class BothTask(Task):
    """Pairs in the target window, triples of two letters and a distance after it."""

    name: ClassVar[str] = "both"

    max_hops: int = 2
    letters: int = 6
    integers: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts > 1:
            raise WhatwhereError(
                f"expected parts of 1 in the both task, whose pointers are not spelled, got {self.parts}."
            )
        if self.letters > ONE_CHARACTER:
            raise WhatwhereError(f"expected at most {ONE_CHARACTER} letters in the both task, got {self.letters}.")
        _ = self.by_letter  # raises an error for sizes that its generator does not support

    @cached_property
    def vocabulary(self) -> BothVocabulary:  # noqa: D102
        return BothVocabulary(self.letters, self.integers, self.length - 1)

    @cached_property
    def by_letter(self) -> LetterTask:
        """The letter task that is left without distances."""
        return LetterTask(
            target=self.target, context=self.context, max_hops=self.max_hops, letters=self.letters,
            integers=self.integers, generator=Decoy.name,
        )  # fmt: skip

    @cached_property
    def by_distance(self) -> NumberTask:
        """The number task that is left without letters."""
        return NumberTask(
            target=self.target, context=self.context, max_hops=self.max_hops, symbols=self.letters * self.integers,
            integers=self.length - 1,
        )  # fmt: skip

    @property
    def answer_ids(self) -> Int[np.ndarray, "values"]:  # noqa: D102
        return np.arange(self.letters * self.integers)

    def build(self, rng: np.random.Generator, hops: Each, answers: Each, places: Each) -> Built:
        """A sequence of the letter task, and the distance of each pointer to what it points at."""
        tokens, visited = self.by_letter.build(rng, hops, self.vocabulary.letter_tokens(answers), places)
        return np.ascontiguousarray(self.vocabulary.from_letters(tokens.T).T.astype(np.int32)), visited

    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """As in the letter task. No distance grows, since extra tokens stand before the window."""
        extra = self.by_letter.extra(rng, self._as_letter_task(batch), count)
        return self.vocabulary.from_letters(extra)

    def fillers(self, batch: Batch) -> Bool[np.ndarray, "n target"]:
        """As in the letter task."""
        return self.by_letter.fillers(self._as_letter_task(batch))

    def _as_letter_task(self, batch: Batch) -> Batch:
        return replace(batch, tokens=self.vocabulary.letter_tokens(batch.tokens), vocabulary=self.by_letter.vocabulary)

    @property
    def most_hops(self) -> int:
        """Chains are drawn by the task's own generator, which needs letters beside those of the path."""
        return min(super().most_hops, self.letters - Decoy.spare_letters)

    def chain_chance(self, hops: int) -> float:  # noqa: ARG002
        """The answer and the decoys look the same."""
        return 1 / (1 + DECOYS)

    def step(self, tokens: Sequences, positions: Each) -> tuple[Each, Each]:
        """Goes where letter and distance point; where they disagree, two tokens fit."""
        there, fits = self.by_letter.step(self.vocabulary.letter_tokens(tokens), positions)
        back = self.vocabulary.distance(tokens[np.arange(len(tokens)), positions])
        return there, fits + ((fits == 1) & (positions - back != there))

    def solve_symbolic(self, tokens: Sequences) -> Int32[np.ndarray, "n"]:
        """The oracle that follows letters alone; see :meth:`Task.solve`."""
        self.vocabulary.check(tokens)
        answers = self.by_letter.solve(self.vocabulary.letter_tokens(tokens))
        return self.vocabulary.from_letters(answers[:, None])[:, 0].astype(np.int32)

    def solve_positional(self, tokens: Sequences) -> Int32[np.ndarray, "n"]:
        """The oracle that follows distances alone; see :meth:`Task.solve`."""
        self.vocabulary.check(tokens)
        return self.by_distance.solve(self.vocabulary.number_tokens(tokens))

    def conflicts(
        self,
        n: int,
        hops: int | Sequence[int] | np.ndarray | None = None,
        seed: int = 0,
        extra_target: int = 0,
        where: str = EVERY,
    ) -> Conflict:
        """Draws ``n`` sequences as :meth:`sample` does, then changes distances so that the cues disagree.

        The rival of the answer is another target token that is alone with its left letter, as the answer is. Tokens
        that are on neither path keep distances that agree with their letters.

        Args:
            n: sequences.
            hops: as in :meth:`sample`; both paths have as many.
            seed: as in :meth:`sample`.
            extra_target: as in :meth:`sample`; neither answer changes.
            where: ``last``: the paths differ in the last hop only. ``every``: they share only the query.

        Raises:
            WhatwhereError: there is no room for two paths, or no such ``where``.
        """
        if where not in WHERE:
            raise WhatwhereError(f"expected a conflict on the hops {' or '.join(WHERE)}, got {where!r}.")
        needed = 2 * (int(self._hops(n, hops).max()) - 1)
        if where == EVERY and needed > self.context:
            raise WhatwhereError(
                f"two paths need {needed} pre-target tokens, and there are {self.context}. "
                f"Raise context, or let the cues disagree on the last hop: where={LAST!r}."
            )
        batch = self.sample(n, hops, seed, extra_target)
        rng, _ = random_streams(seed, "conflict")
        rows, last = np.arange(n), batch.hops - 1
        window = batch.tokens[:, extra_target:]
        rivals = self._rivals(rng, window, batch.paths[rows, batch.hops] - extra_target) + extra_target
        paths, tokens = batch.paths.copy(), batch.tokens.copy()
        paths[rows, batch.hops] = rivals
        if where == EVERY:
            paths = self._separate_paths(rng, batch, rivals)
            self._mislead(rng, batch, tokens, extra_target)
        for hop in range(self.max_hops):
            (some,) = np.nonzero((last == hop) if where == LAST else (last >= hop))
            start, goal = paths[some, hop], paths[some, hop + 1]
            tokens[some, start] = self._with_distance(tokens[some, start], start - goal)
        return Conflict(replace(batch, tokens=tokens), tokens[rows, rivals], paths)

    def _with_distance(self, ids: Each, distance: Each) -> Each:
        """The same letters with another distance."""
        known = self.vocabulary
        return known.triple(known.left(ids), known.right(ids), distance)

    def _rivals(self, rng: np.random.Generator, window: Sequences, places: Each) -> Each:
        """A target token of each sequence, other than the answer, that is alone with its left letter."""
        left = self.vocabulary.left(window[:, : self.target])
        alone = (left[:, :, None] == left[:, None]).sum(2) == 1
        allowed = (alone & (np.arange(self.target) != places[:, None])).T  # [target, n]
        return random_subset(rng, allowed, np.ones(len(window), np.int64)).argmax(0)

    def _separate_paths(self, rng: np.random.Generator, batch: Batch, rivals: Each) -> Int32[np.ndarray, "n visited"]:
        """Paths to the rivals through pre-target tokens that the letters do not visit."""
        start = batch.tokens.shape[1] - 1 - self.context
        free = np.ones((self.context, len(batch)), bool)
        for hop in range(1, self.max_hops):
            (some,) = np.nonzero(batch.hops > hop)
            free[batch.paths[some, hop] - start, some] = False
        chosen = random_subset(rng, free, batch.hops.astype(np.int64) - 1)
        return paths_through(chosen, rivals, start, self.max_hops)

    def _mislead(self, rng: np.random.Generator, batch: Batch, tokens: Sequences, extra_target: int) -> None:
        """Gives each token that only the letters visit a distance to any other earlier token of its window."""
        for hop in range(1, self.max_hops):
            (some,) = np.nonzero(batch.hops > hop)
            at = batch.paths[some, hop]
            before, known = at - extra_target, self.vocabulary.distance(tokens[some, at])
            other = (known + below(rng, before - 1, len(some))) % before + 1  # any of 1 .. before but the known one
            tokens[some, at] = self._with_distance(tokens[some, at], other)
