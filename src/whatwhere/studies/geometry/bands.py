"""Bands of rotary planes, fast to slow, by how far they turn within the training length."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whatwhere.model.gptj import GPTJ

BANDS = ("fast", "middle", "slow")
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


def sliding_bands(planes: int, width: int = 8, stride: int = 4) -> list[tuple[int, ...]]:
    """Bands of neighbouring IDs from the fastest to the slowest, half overlapping by default."""
    starts = range(1, max(planes - width, 0) + 2, stride)
    return [tuple(range(start, min(start + width, planes + 1))) for start in starts]
