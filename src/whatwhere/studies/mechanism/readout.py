"""When the answer can be read at each position of the path, how it came there, and how many layers that took.

The decoder is the model's own final norm and unembedding, applied to the residual stream after each layer (the logit
lens). It was trained for the last position after the last layer. So an answer that it reads is there; one that it does
not read may be there in another form.

A layer *brings* the answer to p_r if it can be read there after this layer and after all later ones, but not before.
(Nothing depends on what the last layer writes at positions other than the last, so there "all later ones" ends before
it.) Section 3.2 says that Index and Retrieval bring it one hop per layer: to the position d hops from the answer in the
d-th layer.

How far a position has followed its path can show before any answer moves: a linear probe finds where the path goes, k
hops ahead of the last position. The *address* of p_k is what a head needs in order to look there: the distance to it in
the number task, its left letter in the letter task. The token itself is the address of p_1. Index keeps that until the
answer comes. Retrieval, applied t times, leaves the address of p_(t+1): one hop per layer. Pointer doubling would reach
p_2, p_4, p_8 (docs/tasks.md). The probe is linear least squares with a small ridge, fitted on half of the inputs and
tested on the other half. It finds what is there, used or not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

import numpy as np
from jaxtyping import Bool, Float, Int

from whatwhere.heads.estimate import clustered_shares, mean
from whatwhere.heads.roles import hops_nearer
from whatwhere.studies.answering import share_of
from whatwhere.studies.mechanism.observation import Observation
from whatwhere.studies.mechanism.tables import Delivery, LayersUsed, Move, Pointer, Readable
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Vocabulary

RIDGE = 1e-3
"""Relative to the mean square of the features: large enough for a stable solution, too small to bias it."""
LinearProbe = Callable[[Float[np.ndarray, "tested d"]], Int[np.ndarray, "tested"]]
"""Names the class of each new observation."""


def readable_answers(seen: Observation, batch: Batch) -> Bool[np.ndarray, "depth n visited"]:
    """Whether the answer can be read at each position of the path; False where a path has ended."""
    at = np.take_along_axis(seen.readable, np.maximum(batch.paths, 0)[None], 2)  # [depth, n, visited]
    return (at == batch.answers[:, None]) & (batch.paths >= 0)


def depths_of_answers(seen: Observation, batch: Batch) -> Int[np.ndarray, "n visited"]:
    """The depth from which on the answer can be read at each pointer of the path: l + 1 if layer l brings it.

    Where it never can, and at the answer's own position and behind it, one more than the last depth.
    """
    readable = readable_answers(seen, batch)
    readable[-1, :, 1:] |= readable[-2, :, 1:]
    from_here_on = np.logical_and.accumulate(readable[::-1])[::-1]  # [depth, n, visited]
    first = np.where(from_here_on.any(0), from_here_on.argmax(0), seen.layers + 1)
    return np.where(np.arange(batch.paths.shape[1]) < batch.hops[:, None], first, seen.layers + 1)


def readout(seen: Observation, batch: Batch) -> list[Readable]:
    """The table of P(answer readable at p_r after layer l), per hop class."""
    readable = readable_answers(seen, batch)
    return [
        Readable(hops, position, layer_before(depth), share_of(known))
        for hops in np.unique(batch.hops).tolist()
        for position in range(hops)
        for depth, known in enumerate(readable[:, batch.hops == hops, position])
    ]


def deliveries(seen: Observation, batch: Batch) -> list[Delivery]:
    """Which layer brings the answer to which distance."""
    depths = depths_of_answers(seen, batch)
    rows = []
    for distance in range(1, int(batch.hops.max()) + 1):
        far = batch.hops >= distance
        at = np.take_along_axis(depths[far], (batch.hops[far] - distance)[:, None], 1)[:, 0]
        rows += [Delivery(layer, distance, share_of(at == layer + 1)) for layer in range(seen.layers)]
    return rows


def moves(seen: Observation, batch: Batch, vocabulary: Vocabulary) -> list[Move]:
    """How many hops nearer to the answer the strongest key was, in the layer that brought the answer."""
    depths = depths_of_answers(seen, batch)
    nearer = hops_nearer(seen.strongest, batch.tokens, vocabulary)  # [layer, n, head, seq]; NaN: leads elsewhere
    rows = []
    for layer in range(seen.layers):
        inputs, positions = np.nonzero(depths == layer + 1)
        for head, moved in enumerate(nearer[layer, inputs, :, batch.paths[inputs, positions]].T):
            kinds = [*range(int(batch.hops.max()) + 1), None]
            held = np.stack([np.isnan(moved) if hops is None else moved == hops for hops in kinds], 1)
            found = zip(kinds, clustered_shares(held, inputs), strict=True)  # positions of an input are not independent
            rows += [Move(layer, head, hops, of_answers) for hops, of_answers in found]
    return rows


def layers_used(seen: Observation, batch: Batch, seed: int = 0) -> list[LayersUsed]:
    """Layers until the answer can be read at the last position, against the hop count and the doubling scheme."""
    depths, rows = depths_of_answers(seen, batch)[:, 0], []
    for hops in np.unique(batch.hops).tolist():
        of_class = depths[batch.hops == hops]
        known = of_class[of_class <= seen.layers]
        layers, never = mean(known.astype(np.float64), seed=seed), len(of_class) - len(known)
        rows.append(LayersUsed(hops, layers, doubling_layers(hops), share_of(known < hops), never))
    return rows


def doubling_layers(hops: int) -> int:
    """Layers that pointer doubling needs: 1, 2, 3, 3 for 1 to 4 hops."""
    return 1 + ceil(log2(hops))


def layer_before(depth: int) -> int | None:
    """The layer after which a depth is; None before the first."""
    return depth - 1 if depth else None


def pointers(at_query: Float[np.ndarray, "depth n d_model"], batch: Batch, vocabulary: Vocabulary) -> list[Pointer]:
    """Decodes every address after every layer, on inputs of one hop class."""
    half = len(batch) // 2
    rows = []
    for ahead in range(1, int(batch.hops.min()) + 1):
        wanted = vocabulary.request_for(batch.tokens, batch.paths[:, 0], batch.paths[:, ahead])
        guess = float((wanted[half:] == np.bincount(wanted[:half]).argmax()).mean())
        for depth, state in enumerate(at_query):
            right = linear_probe(state[:half], wanted[:half])(state[half:]) == wanted[half:]
            rows.append(Pointer(layer_before(depth), ahead, share_of(right), guess))
    return rows


def linear_probe(known: Float[np.ndarray, "fitted d"], classes: Int[np.ndarray, "fitted"]) -> LinearProbe:
    """Fits least squares to one-hot classes; the probe names the class with the largest value."""
    centre = known.mean(0)
    x = np.column_stack([known - centre, np.ones(len(known))]).astype(np.float64)
    y = np.eye(classes.max() + 1)[classes]
    penalty = RIDGE * np.mean(x**2) * len(x)
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)
    return lambda new: (np.column_stack([new - centre, np.ones(len(new))]) @ weights).argmax(1)
