"""How well one does without hopping: rules that guess the answer from what stands out (docs/tasks.md).

A generator that leaks lets a model learn such a rule instead of the task, and the paper does not describe its own. So
every dataset comes with the accuracy of each rule in each hop class. A rule ranks the target tokens; its accuracy is
the share of right tokens among those that it ranks first, that is, ties are broken by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from whatwhere.store import storage
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.functions import index_goals, retrieval_goals
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary

Scores = Float[np.ndarray, "n seq"] | Int[np.ndarray, "n seq"] | Bool[np.ndarray, "n seq"]


@dataclass(frozen=True, eq=False)
class View:
    """What a rule may look at."""

    task: Task
    tokens: Int[np.ndarray, "n seq"]

    @property
    def start(self) -> int:
        """The position of the first pre-target token."""
        return self.tokens.shape[1] - self.task.context - 1

    @cached_property
    def goals(self) -> Int[np.ndarray, "n seq"]:
        """Where each token points, -1 for those that point nowhere."""
        if isinstance(self.task.vocabulary, NumberVocabulary):
            goals = index_goals(self.tokens, self.task.vocabulary)
        else:
            assert isinstance(self.task.vocabulary, LetterVocabulary)
            goals, _ = retrieval_goals(self.tokens, self.task.vocabulary)
        points = self.task.vocabulary.points(self.tokens) & (goals < np.arange(self.tokens.shape[1]))
        return np.where(points, goals, -1)

    def pointers(self, with_query: bool = False) -> Int[np.ndarray, "n seq"]:
        """How many pre-target tokens point at each position."""
        return self._tally(self.goals[:, self.start : None if with_query else -1])

    def earliest(self) -> Int[np.ndarray, "n seq"]:
        """Higher for positions at which an earlier pre-target token points."""
        return self._rank(range(self.tokens.shape[1] - 2, self.start - 1, -1))

    def latest(self) -> Int[np.ndarray, "n seq"]:
        """Higher for positions at which a later pre-target token points."""
        return self._rank(range(self.start, self.tokens.shape[1] - 1))

    def reached(self, hops: Sequence[int]) -> Int[np.ndarray, "n seq"]:
        """How many pre-target tokens reach each position in one of these numbers of hops."""
        at = np.broadcast_to(np.arange(self.tokens.shape[1]), self.tokens.shape)[:, self.start : -1]
        total = np.zeros_like(self.tokens)
        for hop in range(1, max(hops, default=0) + 1):
            at = np.where(at < 0, -1, np.take_along_axis(self.goals, np.maximum(at, 0), 1))
            total += self._tally(at) * (hop in hops)
        return total

    def alone(self) -> Bool[np.ndarray, "n seq"]:
        """Target tokens whose left letter no other target token has."""
        return self.companions() == 1

    def companions(self) -> Int[np.ndarray, "n seq"]:
        """How many target tokens share the left letter of each token."""
        assert isinstance(self.task.vocabulary, LetterVocabulary)
        left = self.task.vocabulary.left(self.tokens)
        count = np.zeros_like(self.tokens)
        for letter in range(self.task.vocabulary.letters):
            here = left == letter
            count += here * here[:, : self.start].sum(1, keepdims=True)
        return count

    def _tally(self, goals: Int[np.ndarray, "n pointers"]) -> Int[np.ndarray, "n seq"]:
        count = np.zeros_like(self.tokens)
        rows = np.arange(len(count))
        for goal in goals.T:
            count[rows, goal] += goal >= 0
        return count

    def _rank(self, positions: range) -> Int[np.ndarray, "n seq"]:
        rank = np.zeros_like(self.tokens)
        rows = np.arange(len(rank))
        for value, position in enumerate(positions, start=1):
            goal = self.goals[:, position]
            rank[rows, goal] = np.where(goal >= 0, value, rank[rows, goal])
        return rank


Rule = Callable[[View], Scores]

ANY_TASK: dict[str, Rule] = {
    "any target token": lambda see: np.zeros(see.tokens.shape),
    "the one nearest to the query": lambda see: np.broadcast_to(np.arange(see.tokens.shape[1]), see.tokens.shape),
    "one that something points at": lambda see: see.pointers(with_query=True) > 0,
    "one that a pre-target token points at": lambda see: see.pointers() > 0,
    "the one pointed at most often": lambda see: see.pointers(with_query=True),
    "the one pointed at most often, query aside": lambda see: see.pointers(),
    "the one pointed at least often, but pointed at": lambda see: np.where(see.pointers() > 0, -see.pointers(), -99),
    "the one pointed at from furthest back": lambda see: see.earliest(),
    "the one pointed at last": lambda see: see.latest(),
}
"""Rules for both tasks that follow no pointer of the query's."""

LETTER_ONLY: dict[str, Rule] = {
    "one alone with its left letter": lambda see: see.alone(),
    "one alone with its left letter and pointed at": lambda see: see.alone() & (see.pointers(with_query=True) > 0),
    "the one alone that is pointed at least often": lambda see: np.where(see.alone(), -see.pointers(), -99),
    "one with the most frequent left letter": lambda see: see.companions(),
}

HOPPING: dict[str, Rule] = {
    "one hop from the query": lambda see: see.pointers(with_query=True) - see.pointers(),
    "two hops from most pre-target tokens": lambda see: see.reached([2]),
    "two or more hops from most pre-target tokens": lambda see: see.reached(range(2, see.task.context + 1)),
}
"""Rules that follow pointers, though not the query's path: they need fewer hops than the task, not none."""


@dataclass(frozen=True)
class Shortcut:
    """One rule, and its accuracy in the hop classes 1, 2, ..; NaN for a class without sequences."""

    rule: str
    hopping: bool
    accuracy: tuple[float, ...]


def shortcuts(task: Task, batch: Batch) -> list[Shortcut]:
    """The accuracy of every rule on some sequences, by hop class."""
    see = View(task, batch.tokens)
    plain = ANY_TASK | (LETTER_ONLY if isinstance(task.vocabulary, LetterVocabulary) else {})
    found = []
    for hopping, rules in ((False, plain), (True, HOPPING)):
        for name, rule in rules.items():
            right = _share_right(see, rule(see), batch.answers)
            classes = [right[batch.hops == hop] for hop in range(1, task.max_hops + 1)]
            accuracy = tuple(float(each.mean()) if len(each) else float("nan") for each in classes)
            found.append(Shortcut(name, hopping, accuracy))
    return found


def _share_right(see: View, score: Scores, answers: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    score = score[:, : see.start]
    best = score == score.max(1, keepdims=True)
    right = see.tokens[:, : see.start] == answers[:, None]
    return (best & right).sum(1) / best.sum(1)


def write_shortcuts(path: Path, found: Sequence[Shortcut]) -> None:
    """Writes the report as a tidy table."""
    rows = [
        (each.rule, "yes" if each.hopping else "no", hop, accuracy)
        for each in found
        for hop, accuracy in enumerate(each.accuracy, start=1)
    ]
    storage.write_csv(path, ["rule", "hopping", "hops", "accuracy"], rows)
