"""A batch of task instances: the sequences, and what the generator knows about each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, Int32


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences with their answers, hop counts and paths. Positions count from 0; the query is the last token."""

    tokens: Int32[np.ndarray, "n seq"]
    answers: Int32[np.ndarray, "n"]
    """The token id that a model should give at the last position."""
    hops: Int32[np.ndarray, "n"]
    paths: Int32[np.ndarray, "n visited"]
    """The query's position, then each position visited; the last one holds the answer, and -1 fills the rest."""

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: slice | np.ndarray) -> Batch:
        """Some of the sequences: a slice, a mask or an array of indices."""
        return Batch(self.tokens[index], self.answers[index], self.hops[index], self.paths[index])


def paths_through(
    visited: Bool[np.ndarray, "context n"], places: Int[np.ndarray, "n"], target: int, max_hops: int
) -> Int32[np.ndarray, "n steps"]:
    """The paths of sequences whose query hops through the visited pre-target tokens to a place in the target window."""
    context, n = visited.shape
    paths = np.full((n, max_hops + 1), -1, np.int32)
    step = visited.sum(0) + 1
    paths[np.arange(n), step] = places
    for c, here in enumerate(visited):  # from left to right is from the end of the path to its start
        (rows,) = np.nonzero(here)
        step[rows] -= 1
        paths[rows, step[rows]] = target + c
    paths[:, 0] = target + context
    return paths
