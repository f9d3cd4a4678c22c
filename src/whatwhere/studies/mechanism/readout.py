"""When the answer can be read at each position of the path, how it came there, and how many layers that took.

The decoder is the model's own final norm and unembedding, applied to the residual stream after each layer (the logit
lens). It was trained for the last position after the last layer, so it tells too little rather than too much: what it
reads is there, what it does not read may be there in another form. See :mod:`whatwhere.studies.mechanism.probe` for a decoder
that is trained.

The answer *arrives* at p_r in the first layer after which it can be read there, then and ever after. (Nothing depends
on what the last layer writes at positions other than the last, so there "ever after" ends before it.) Section 3.2 says
that Index and Retrieval bring it one hop per layer: to the position d hops from the answer in the d-th layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.heads.intervals import bootstrap_interval, wilson_interval
from whatwhere.heads.roles import NOWHERE, hops_nearer
from whatwhere.studies.mechanism.observation import Observation
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Vocabulary


@dataclass(frozen=True)
class Readable:
    """The share of inputs of a hop class in which the answer can be read at p_position after a layer."""

    hops: int
    position: int
    """Steps along the path: 0 is the last token."""
    layer: int
    """-1 is before the first layer."""
    share: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Delivery:
    """The share of path positions at a distance from the answer to which a layer brings it."""

    layer: int
    distance: int
    share: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Move:
    """Of the answers that arrive in a layer: the share for which a head looked so many hops nearer to it."""

    layer: int
    head: int
    hops_moved: int
    """1 is what the paper's functions do, more is a shortcut, 0 is itself; -1 leads elsewhere."""
    share: float
    low: float
    high: float
    count: int
    """Arrivals in this layer."""


@dataclass(frozen=True)
class LayersUsed:
    """How many layers pass until the answer has arrived at the last position."""

    hops: int
    mean: float
    low: float
    high: float
    one_hop_per_layer: int
    doubling: int
    """1 + ceil(log2 h): layers that a pointer-doubling scheme needs (docs/tasks.md)."""
    fewer: float
    """The share of inputs that took fewer layers than hops, which one hop per layer cannot."""
    fewer_low: float
    fewer_high: float
    count: int
    never: int
    """Inputs left out because the answer could never be read, though the model gave it."""


def readable_answers(seen: Observation, batch: Batch) -> Bool[np.ndarray, "depth n visited"]:
    """Whether the answer can be read at each position of the path; False where a path has ended."""
    at = np.take_along_axis(seen.readable, np.maximum(batch.paths, 0)[None], 2)  # [depth, n, visited]
    return (at == batch.answers[:, None]) & (batch.paths >= 0)


def arrivals(seen: Observation, batch: Batch) -> Int[np.ndarray, "n visited"]:
    """The layer in which the answer arrives at each pointer of the path: -1 if it is read before the first layer.

    Where it never does, and from the answer's own position on, the number of layers.
    """
    readable = readable_answers(seen, batch)
    readable[-1, :, 1:] |= readable[-2, :, 1:]
    ever_after = np.logical_and.accumulate(readable[::-1])[::-1]  # [depth, n, visited]
    first = np.where(ever_after.any(0), ever_after.argmax(0), seen.layers + 1) - 1
    return np.where(np.arange(batch.paths.shape[1]) < batch.hops[:, None], first, seen.layers)


def readout(seen: Observation, batch: Batch) -> list[Readable]:
    """The table of P(answer readable at p_r after layer l), per hop class."""
    readable = readable_answers(seen, batch)
    rows = []
    for hops in np.unique(batch.hops):
        of_class = readable[:, batch.hops == hops]
        for position in range(hops):
            for depth, known in enumerate(of_class[:, :, position]):
                rows.append(Readable(int(hops), position, depth - 1, *_share(known)))
    return rows


def deliveries(seen: Observation, batch: Batch) -> list[Delivery]:
    """Which layer brings the answer to which distance."""
    arrived = arrivals(seen, batch)
    rows = []
    for distance in range(1, int(batch.hops.max()) + 1):
        far = batch.hops >= distance
        at = np.take_along_axis(arrived[far], (batch.hops[far] - distance)[:, None], 1)[:, 0]
        rows += [Delivery(layer, distance, *_share(at == layer)) for layer in range(seen.layers)]
    return rows


def moves(seen: Observation, batch: Batch, vocabulary: Vocabulary) -> list[Move]:
    """How many hops nearer to the answer the strongest key stood, in the layer in which the answer arrived."""
    arrived = arrivals(seen, batch)
    nearer = hops_nearer(seen.strongest, batch.tokens, vocabulary)  # [layer, n, head, seq]
    kinds = (*range(int(batch.hops.max()) + 1), NOWHERE)
    rows = []
    for layer in range(seen.layers):
        inputs, positions = np.nonzero(arrived == layer)
        for head, moved in enumerate(nearer[layer, inputs, :, batch.paths[inputs, positions]].T):
            rows += [Move(layer, head, hops, *_share(moved == hops)) for hops in kinds]
    return rows


def layers_used(seen: Observation, batch: Batch, seed: int = 0) -> list[LayersUsed]:
    """Layers until the answer stands at the last position, against the hop count and the doubling scheme."""
    used = arrivals(seen, batch)[:, 0] + 1
    rows = []
    for hops in map(int, np.unique(batch.hops)):
        of_class = used[batch.hops == hops]
        known = of_class[of_class <= seen.layers]
        low, high = bootstrap_interval(known.astype(np.float64), seed=seed) if len(known) else (np.nan, np.nan)
        fewer, fewer_low, fewer_high, count = _share(known < hops)
        mean = float(known.mean()) if len(known) else float("nan")
        ends = float(low), float(high)
        never = len(of_class) - len(known)
        rows.append(
            LayersUsed(hops, mean, *ends, hops, doubling_layers(hops), fewer, fewer_low, fewer_high, count, never)
        )
    return rows


def doubling_layers(hops: int) -> int:
    """Layers that pointer doubling needs: 1, 2, 3, 3 for 1 to 4 hops."""
    return 1 + ceil(log2(hops))


def _share(holds: Bool[np.ndarray, "count"]) -> tuple[float, float, float, int]:
    """A share with its interval and count; NaN if nothing was counted."""
    hits, count = int(holds.sum()), len(holds)
    return (hits / count if count else float("nan"), *wilson_interval(hits, count), count)
