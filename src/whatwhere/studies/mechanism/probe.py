"""Pointers in motion: a linear probe for where the path goes, k hops ahead of the last position.

How far a position has followed its path can show before any answer moves. The *address* of p_k is what a head needs in
order to look there: the distance to it in the number task, its left letter in the letter task. The token itself is the
address of p_1. Index keeps that until the answer comes. Retrieval, applied t times, leaves the address of p_(t+1): one
hop per layer. Pointer doubling would reach p_2, p_4, p_8 (docs/tasks.md).

The probe is linear least squares with a small ridge, fitted on half of the inputs and tested on the other half. It
finds what is there, used or not.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from whatwhere.heads.estimate import share
from whatwhere.studies.mechanism.readout import layer_before
from whatwhere.studies.mechanism.tables import Pointer
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Vocabulary

RIDGE = 1e-3
"""Relative to the mean square of the features: large enough for a stable solution, too small to bias it."""


def pointers(at_query: Float[np.ndarray, "depth n d_model"], batch: Batch, vocabulary: Vocabulary) -> list[Pointer]:
    """Decodes every address after every layer, on inputs of one hop class."""
    half = len(batch) // 2
    rows = []
    for ahead in range(1, int(batch.hops.min()) + 1):
        wanted = vocabulary.request_for(batch.tokens, batch.paths[:, 0], batch.paths[:, ahead])
        guess = float((wanted[half:] == np.bincount(wanted[:half]).argmax()).mean())
        for depth, state in enumerate(at_query):
            right = decode(state[:half], wanted[:half], state[half:]) == wanted[half:]
            rows.append(Pointer(layer_before(depth), ahead, share(int(right.sum()), len(right)), guess))
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
