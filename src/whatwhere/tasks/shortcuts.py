"""Shortcuts: rules that guess the answer without following the path (docs/tasks.md).

A generator that leaks lets a model learn such a rule instead of the task, and the authors' letter data leak. So every
data set comes with the accuracy of each rule in each hop class. A rule ranks the target tokens; its accuracy is the
share of right tokens among those that it ranks first, that is, ties are broken by chance.

Rules with ``hopping`` False look at what each token points at, and no further. The others follow chains of pointers,
but not the path from the query to its end: they need fewer hops than the task, or need not know where to begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import Marks, Sequences

if TYPE_CHECKING:
    import pandas as pd

Scores = Float[np.ndarray, "n seq"] | Sequences | Marks


@dataclass(frozen=True, eq=False)
class View:
    """What a rule may look at."""

    task: Task
    tokens: Sequences

    @property
    def start(self) -> int:
        """The position of the first pre-target token."""
        return self.tokens.shape[1] - self.task.pointing

    @cached_property
    def goals(self) -> Sequences:
        """Where each token points, -1 for those that point nowhere."""
        return self.task.vocabulary.goals(self.tokens)

    @cached_property
    def pointers(self) -> Sequences:
        """How many pre-target tokens point at each position."""
        return self._tally(self.goals[:, self.start : -1])

    @cached_property
    def pointers_with_query(self) -> Sequences:
        """How many pre-target tokens, and the query, point at each position."""
        return self._tally(self.goals[:, self.start :])

    def earliest(self) -> Sequences:
        """Higher for positions at which an earlier pre-target token points."""
        return self._rank(range(self.tokens.shape[1] - 2, self.start - 1, -1))

    def latest(self) -> Sequences:
        """Higher for positions at which a later pre-target token points."""
        return self._rank(range(self.start, self.tokens.shape[1] - 1))

    def walk(self) -> Iterator[Sequences]:
        """For 1, 2, .. hops, how many pre-target tokens reach each position by so many; ends when none continues."""
        at = self.goals[:, self.start : -1]
        while (at >= 0).any():
            yield self._tally(at)
            at = np.where(at < 0, -1, np.take_along_axis(self.goals, np.maximum(at, 0), 1))

    def reached(self, fewest: int, most: int | None = None) -> Sequences:
        """How many pre-target tokens reach each position by ``fewest`` hops or more, up to ``most``."""
        return sum(islice(self.walk(), fewest - 1, most), start=np.zeros(self.tokens.shape, int))

    def longest_chain(self) -> Sequences:
        """The most hops by which a pre-target token reaches each position; 0 for what none reaches."""
        longest = np.zeros(self.tokens.shape, int)
        for hop, reached in enumerate(self.walk(), start=1):
            longest[reached > 0] = hop
        return longest

    @cached_property
    def companions(self) -> Sequences:
        """How many target tokens have the left letter (letter task) or the symbol (number task) of each token."""
        labels = self.task.vocabulary.labels(self.tokens)
        count = _count(labels[:, : self.start], len(self.task.vocabulary.label_names))
        return np.take_along_axis(count, labels, 1)

    @property
    def alone(self) -> Marks:
        """Tokens whose left letter or symbol occurs exactly once in the target window."""
        return self.companions == 1

    def _tally(self, goals: Int[np.ndarray, "n pointers"]) -> Sequences:
        return _count(goals + 1, self.tokens.shape[1] + 1)[:, 1:]  # the first column counts those that point nowhere

    def _rank(self, positions: range) -> Sequences:
        rank = np.zeros(self.tokens.shape, int)
        rows = np.arange(len(rank))
        for value, position in enumerate(positions, start=1):
            goal = self.goals[:, position]
            rank[rows, goal] = np.where(goal >= 0, value, rank[rows, goal])
        return rank


def _count(values: Int[np.ndarray, "n some"], kinds: int) -> Int[np.ndarray, "n kinds"]:
    """How often each of the values 0 .. kinds-1 occurs in each row."""
    rows = np.arange(len(values))[:, None] * kinds
    return np.bincount((rows + values).ravel(), minlength=len(values) * kinds).reshape(len(values), kinds)


def _least(view: View, allowed: Marks) -> Sequences:
    """Highest for the allowed token at which the fewest pre-target tokens point."""
    return np.where(allowed, -view.pointers, -view.tokens.shape[1])


NOT_HOPPING: dict[str, Callable[[View], Scores]] = {
    "any target token": lambda view: np.zeros(view.tokens.shape),
    "the one nearest to the query": lambda view: np.broadcast_to(np.arange(view.tokens.shape[1]), view.tokens.shape),
    "one that something points at": lambda view: view.pointers_with_query > 0,
    "one that a pre-target token points at": lambda view: view.pointers > 0,
    "the one pointed at most often": lambda view: view.pointers_with_query,
    "the one pointed at most often, query aside": lambda view: view.pointers,
    "the one pointed at least often, but pointed at": lambda view: _least(view, view.pointers > 0),
    "the one pointed at from furthest back": lambda view: view.earliest(),
    "the one pointed at last": lambda view: view.latest(),
    "one alone with its {label}": lambda view: view.alone,
    "one alone with its {label} and pointed at": lambda view: view.alone & (view.pointers_with_query > 0),
    "the one alone that is pointed at least often": lambda view: _least(view, view.alone),
    "one with the most frequent {label}": lambda view: view.companions,
}
"""Rules that follow no chain. The label is the left letter in the letter task, the symbol in the number task."""

HOPPING: dict[str, Callable[[View], Scores]] = {
    "one hop from the query": lambda view: view.pointers_with_query - view.pointers,
    "two hops from most pre-target tokens": lambda view: view.reached(2, 2),
    "two or more hops from most pre-target tokens": lambda view: view.reached(2),
    "the end of the longest chain of pre-target tokens": lambda view: view.longest_chain(),
}
"""Rules that follow pointers, though not along the whole path from the query."""


def shortcuts(task: Task, batch: Batch) -> pd.DataFrame:
    """The accuracy of every rule on some sequences, by hop class.

    Returns:
        One row for each rule and hop class: ``rule``, ``hopping`` (whether it follows chains), ``hops``, ``accuracy``
        (NaN for a class without sequences) and ``count``, the sequences of the class.
    """
    import pandas as pd

    view = View(task, batch.tokens)
    right = view.tokens[:, : view.start] == batch.answers[:, None]  # [n, target]
    classes = {hop: batch.hops == hop for hop in range(1, task.max_hops + 1)}
    rows = []
    for name, rule in (NOT_HOPPING | HOPPING).items():
        score = rule(view)[:, : view.start]
        best = score == score.max(1, keepdims=True)
        share = (best & right).sum(1) / best.sum(1)  # [n]
        for hop, some in classes.items():
            accuracy = float(share[some].mean()) if some.any() else float("nan")
            rows.append((name.format(label=task.vocabulary.label), name in HOPPING, hop, accuracy, int(some.sum())))
    return pd.DataFrame(rows, columns=["rule", "hopping", "hops", "accuracy", "count"])
