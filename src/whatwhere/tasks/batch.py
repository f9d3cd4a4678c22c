"""A batch of task instances: the sequences, and what the generator knows about each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int, Int32

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = ("tokens", "answers", "hops", "paths")
SHOWN = 5
"""Sequences that a notebook shows."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences with their answers, hop counts and paths. Positions count from 0; the query is the last token."""

    tokens: Int32[np.ndarray, "n seq"]
    answers: Int32[np.ndarray, "n"]
    """The token id that a model should give at the last position."""
    hops: Int32[np.ndarray, "n"]
    paths: Int32[np.ndarray, "n visited"]
    """The query's position, then each position visited; the last one holds the answer, and -1 fills the rest."""
    vocabulary: Vocabulary | None = None
    """The names of the token ids; a batch that a task drew has them."""

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int | slice | np.ndarray) -> Batch:
        """Some of the sequences: one of them, a slice, a mask or an array of indices."""
        some = np.arange(len(self))[index].reshape(-1) if isinstance(index, int) else index
        return replace(self, **{name: array[some] for name, array in self.arrays().items()})

    def __repr__(self) -> str:
        hops = "none" if not len(self) else " ".join(str(hop) for hop in np.unique(self.hops))
        return f"Batch({len(self):,} sequences of {self.tokens.shape[1]:,} tokens, hops {hops})"

    def _repr_html_(self) -> str:
        """The first sequences as a table, in a notebook."""
        from html import escape

        table = self[:SHOWN].to_frame().to_html(index=False) if self.vocabulary is not None else ""
        return f"<div>{escape(repr(self))}{table}</div>"

    def arrays(self) -> dict[str, Int32[np.ndarray, "..."]]:
        """The four arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    def to_frame(self) -> pd.DataFrame:
        """One row for each sequence: ``hops``, ``answer`` and ``tokens`` as text.

        Raises:
            WhatwhereError: the batch does not know the names of its tokens.
        """
        import pandas as pd

        if self.vocabulary is None:
            raise WhatwhereError(
                "expected a batch with a vocabulary, got one of bare ids; draw it with task.sample, or add vocabulary=."
            )
        names = self.vocabulary.names
        answers = [names[answer] for answer in self.answers]
        return pd.DataFrame({"hops": self.hops, "answer": answers, "tokens": self.vocabulary.decode(self.tokens)})


def hops_of(paths: Int[np.ndarray, "n visited"]) -> Int32[np.ndarray, "n"]:
    """The hops of paths as in :attr:`Batch.paths`."""
    return (paths >= 0).sum(1, dtype=np.int32) - np.int32(1)


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
