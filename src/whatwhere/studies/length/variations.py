"""A trained model with another rotation: interventions at inference that need no training.

Gating closes planes, so that they add nothing to the logits (Section 3.5 asks which frequencies a task lives on). The
others change what a position is: another base, positions pressed into the trained range (interpolation), none at all
(NoPE). Sharpening multiplies logits by ``log n / log n_0``, which undoes the dispersion of softmax over more keys
(Section 3.6) and leaves every margin's sign as it was: the one that tells the two causes of failure apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import Rotation, rope_frequencies

BANDS = ("fast", "middle", "slow")
FAST, SLOW = 1.0, 0.05
"""Turns across the training length from which a plane is fast, and below which it is slow: the first meets the same
angle twice, the second turns by less than 18 degrees and hardly knows where it stands."""


@dataclass(frozen=True)
class Variation:
    """What is changed; the defaults change nothing."""

    name: str = "as trained"
    closed: tuple[int, ...] = ()
    """IDs (from 1) of planes that add nothing to the logits."""
    layers: tuple[int, ...] | None = None
    """The layers in which they are closed; all by default."""
    base_factor: float = 1.0
    """Multiplies the rotary base: above 1 slows every plane but the first."""
    interpolate: bool = False
    """Multiply positions by ``n_0 / n``, so that an input of any length n spans the trained length n_0."""
    unrotated: bool = False
    """Let no plane turn: NoPE."""
    sharpen: bool = False
    """Multiply the logits by ``log n / log n_0``."""

    def __post_init__(self) -> None:
        if not self.base_factor > 0:
            raise WhatwhereError(f"the factor of the rotary base must be above 0, and {self.base_factor} arrived.")

    def apply(self, model: GPTJ, length: int, trained: int) -> GPTJ:
        """A model with the same weights and this change, for inputs of one length.

        Args:
            model: what was trained; it stays as it is.
            length: tokens of the inputs to come.
            trained: tokens of the inputs that it was trained on.
        """
        if self == Variation(self.name):
            return model
        config = model.config
        frequencies = model.rotation.frequencies
        if self.base_factor != 1.0 and config.rope_base is not None:
            frequencies = rope_frequencies(config.rotated, config.rope_base * self.base_factor)
        if self.interpolate:
            frequencies = frequencies * (trained / length)
        if self.unrotated:
            frequencies = torch.zeros_like(frequencies)
        varied = GPTJ(config)
        varied.load_state_dict(model.state_dict())
        varied.to(model.gates.device)
        varied.task = model.task
        varied.rotation = Rotation(frequencies, model.rotation.layout)
        varied.gates.copy_(model.gates)
        layers = range(config.layers) if self.layers is None else self.layers
        varied.gates[np.ix_(list(layers), [plane - 1 for plane in self.closed])] = 0
        if self.sharpen:
            varied.gates.mul_(math.log(length) / math.log(trained))
        return varied


def band_of(frequencies: Iterable[float], length: int) -> list[str]:
    """The band of each plane: fast, middle or slow across an input of this length."""
    turns = (frequency * length / (2 * math.pi) for frequency in frequencies)
    return ["fast" if turn >= FAST else "slow" if turn < SLOW else "middle" for turn in turns]


def bands(model: GPTJ, length: int) -> dict[str, tuple[int, ...]]:
    """The IDs of the fast, middle and slow planes; a band may be empty."""
    named = band_of(model.rotation.frequencies.tolist(), length)
    return {band: tuple(i + 1 for i, name in enumerate(named) if name == band) for band in BANDS}


def sliding_bands(planes: int, width: int = 8, stride: int = 4) -> list[tuple[int, ...]]:
    """Bands of neighbouring IDs from the fastest to the slowest, half overlapping by default."""
    starts = range(1, max(planes - width, 0) + 2, stride)
    return [tuple(range(start, min(start + width, planes + 1))) for start in starts]


def length_variations(model: GPTJ, length: int) -> list[Variation]:
    """The interventions whose length curves are drawn, the unchanged model first."""
    closed = bands(model, length)
    return [
        Variation(),
        *(Variation(f"{band} planes closed", closed=closed[band]) for band in ("fast", "slow") if closed[band]),
        Variation("rotary base x 10", base_factor=10.0),
        Variation("positions interpolated", interpolate=True),
        Variation("no rotation", unrotated=True),
        Variation("logits sharpened", sharpen=True),
    ]


def gating_variations(model: GPTJ, length: int) -> list[Variation]:
    """The bands whose closing is measured: each, all others, sliding ones, and each within a third of the layers."""
    planes, depth = len(model.rotation.frequencies), model.config.layers
    named = {band: ids for band, ids in bands(model, length).items() if ids}
    closings = [Variation(f"{band} closed", closed=ids) for band, ids in named.items()]
    everything = range(1, planes + 1)
    alone = [
        Variation(f"only {band} open", closed=tuple(i for i in everything if i not in ids))
        for band, ids in named.items()
        if len(ids) < planes
    ]
    sliding = [Variation(f"{ids[0]}-{ids[-1]} closed", closed=ids) for ids in sliding_bands(planes)]
    thirds = [tuple(int(layer) for layer in third) for third in np.array_split(np.arange(depth), 3) if len(third)]
    by_third = [
        replace(closing, name=f"{closing.name} in {third[0]}-{third[-1]}", layers=third)
        for third in thirds
        for closing in closings
    ]
    return [Variation(), *closings, *alone, *by_third, *sliding]
