"""Which frequencies a task uses: accuracy when planes are closed (an intervention on Section 3.5's correlation)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import answers, shares_by_hop
from whatwhere.studies.geometry.tables import ALONE, AS_TRAINED, CLOSED, SLIDING, GatedAccuracy
from whatwhere.tasks.batch import Batch
from whatwhere.trace.interventions import ClosePlanes

BANDS = ("fast", "middle", "slow")
WIDTH = 8
"""Planes of a sliding band."""
FAST, SLOW = 1.0, 0.05
"""Turns within the training length from which a plane is fast, and below which it is slow: a fast one has the same
angle at two distances, a slow one turns by less than 18 degrees and hardly tells positions apart."""


def band_of(frequencies: Iterable[float], length: int) -> list[str]:
    """The band of each plane: fast, middle or slow across an input of this length."""
    turns = (frequency * length / (2 * math.pi) for frequency in frequencies)
    return ["fast" if turn >= FAST else "slow" if turn < SLOW else "middle" for turn in turns]


def bands(model: GPTJ, length: int) -> dict[str, tuple[int, ...]]:
    """The IDs of the fast, middle and slow planes; a band without planes is left out."""
    named = band_of(model.rotation.frequencies.tolist(), length)
    found = {band: tuple(i + 1 for i, name in enumerate(named) if name == band) for band in BANDS}
    return {band: planes for band, planes in found.items() if planes}


def sliding_bands(planes: int) -> list[tuple[int, ...]]:
    """Half-overlapping bands of neighbouring IDs from the fastest to the slowest."""
    starts = range(1, max(planes - WIDTH, 0) + 2, WIDTH // 2)
    return [tuple(range(start, min(start + WIDTH, planes + 1))) for start in starts]


@dataclass(frozen=True)
class Closing:
    """Planes that are closed."""

    name: str
    kind: str
    planes: tuple[int, ...] = ()
    """IDs, from 1."""
    layers: tuple[int, ...] | None = None
    """Where; None for all layers."""


def closings(model: GPTJ, trained: int) -> list[Closing]:
    """The closings that are measured: each band, all others, each within a third of the layers, sliding ones.

    ``trained``, the tokens of the inputs that it was trained on, says which planes are fast and which slow.
    """
    planes, depth = len(model.rotation.frequencies), model.config.layers
    named = bands(model, trained)
    closed = [Closing(f"{band} closed", CLOSED, ids) for band, ids in named.items()]
    alone = [
        Closing(f"only {band} open", ALONE, tuple(plane for plane in range(1, planes + 1) if plane not in ids))
        for band, ids in named.items()
        if len(ids) < planes
    ]
    sliding = [Closing(f"{ids[0]}-{ids[-1]} closed", SLIDING, ids) for ids in sliding_bands(planes)]
    thirds = [tuple(third.tolist()) for third in np.array_split(np.arange(depth), 3) if len(third)]
    by_third = [
        replace(closing, name=f"{closing.name} in {third[0]}-{third[-1]}", layers=third)
        for third in thirds
        for closing in closed
    ]
    return [Closing(AS_TRAINED, AS_TRAINED), *closed, *alone, *by_third, *sliding]


def gated_accuracy(model: GPTJ, batch: Batch, closing: Closing) -> list[GatedAccuracy]:
    """Accuracy per hop class with some planes closed."""
    change = [ClosePlanes(closing.planes, closing.layers)] if closing.planes else []
    right = answers(model, batch.tokens, change) == batch.answers
    ends = min(closing.planes, default=None), max(closing.planes, default=None)
    layers = None if closing.layers is None else f"{closing.layers[0]}-{closing.layers[-1]}"
    return [
        GatedAccuracy(closing.name, closing.kind, *ends, len(closing.planes), layers, hop, accuracy)
        for hop, accuracy in shares_by_hop(right, batch.hops)
    ]
