"""Pointers in motion: a linear probe for where the path goes, k hops ahead of the last position.

How far a position has followed its path can show before any answer moves: the *address* of p_k, which is what a head
needs in order to look there, is the distance to it in the number task and its left letter in the letter task. The token
itself is the address of p_1. Index keeps that until the answer comes. Retrieval, applied t times, leaves the address of
p_(t+1): one hop per layer. Pointer doubling would reach p_2, p_4, p_8 (docs/tasks.md).

The probe is linear least squares with a small ridge, fitted on half of the inputs and tested on the other half. It
finds what is there, used or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from whatwhere.heads.intervals import wilson_interval
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import LetterVocabulary, Vocabulary

RIDGE = 1e-3
"""Relative to the mean square of the features: large enough for a stable solution, too small to bias it."""


@dataclass(frozen=True)
class Pointer:
    """How well the address of p_ahead can be decoded at the last position after a layer."""

    layer: int
    """-1 is before the first layer."""
    ahead: int
    share: float
    low: float
    high: float
    count: int
    """Inputs tested on."""
    guess: float
    """What always naming the commonest address gives."""


def addresses(batch: Batch, vocabulary: Vocabulary, ahead: int) -> Int[np.ndarray, "n"]:
    """What the last position would have to know to look at p_ahead."""
    there = batch.paths[:, ahead]
    if isinstance(vocabulary, LetterVocabulary):
        return vocabulary.left(batch.tokens[np.arange(len(batch)), there])
    return batch.paths[:, 0] - there


def pointers(at_query: Float[np.ndarray, "depth n d_model"], batch: Batch, vocabulary: Vocabulary) -> list[Pointer]:
    """Decodes every address after every layer, on inputs of one hop class."""
    half = len(batch) // 2
    rows = []
    for ahead in range(1, int(batch.hops.min()) + 1):
        wanted = addresses(batch, vocabulary, ahead)
        guess = float((wanted[half:] == np.bincount(wanted[:half]).argmax()).mean())
        for depth, state in enumerate(at_query):
            right = decode(state[:half], wanted[:half], state[half:]) == wanted[half:]
            hits, count = int(right.sum()), len(right)
            rows.append(Pointer(depth - 1, ahead, hits / count, *wilson_interval(hits, count), count, guess))
    return rows


def decode(
    known: Float[np.ndarray, "fitted d"], classes: Int[np.ndarray, "fitted"], new: Float[np.ndarray, "tested d"]
) -> Int[np.ndarray, "tested"]:
    """Fits least squares to one-hot classes and names the class with the largest value."""
    centre = known.mean(0)
    x = np.column_stack([known - centre, np.ones(len(known))]).astype(np.float64)
    y = np.eye(classes.max() + 1)[classes]
    penalty = RIDGE * np.mean(x**2) * len(x)
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)
    return (np.column_stack([new - centre, np.ones(len(new))]) @ weights).argmax(1)
