"""The population: one trained model gives many that differ in sharpness, rotary base or open planes, without training.

A variation is written as its parts, joined by ``+``:

    logits-F       every logit times F: sharpened above 1, flattened below (beta of Section 3.6)
    base-F         the rotary base times F
    closed-KofN    the K-th of N equal bands of rotary planes closed, the fastest first
    as-trained     nothing

Each is one fixed model for inputs of any length. (Those of the study ``length`` depend on the length of the input.)
"""

from __future__ import annotations

import re

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.studies.length.measure import larger_base
from whatwhere.trace.interventions import ClosePlanes, Intervention, ScaleLogits

_NUMBER = re.compile(r"(logits|base)-(\d+(?:\.\d+)?)")
_BAND = re.compile(r"closed-(\d+)of(\d+)")


def interventions_of(variation: str, planes: int) -> list[Intervention]:
    """What a variation changes in a model of so many rotary planes.

    Raises:
        WhatwhereError: it is not written as above, or there are fewer planes than bands.
    """
    return [] if variation == "as-trained" else [_intervention(part, planes) for part in variation.split("+")]


def _intervention(part: str, planes: int) -> Intervention:
    if found := _NUMBER.fullmatch(part):
        factor = float(found[2])
        if found[1] == "logits":
            return ScaleLogits(factor)
        if factor > 0:
            return larger_base(factor, planes)
    if found := _BAND.fullmatch(part):
        band, count = int(found[1]), int(found[2])
        if 1 <= band <= count <= planes:
            return ClosePlanes(tuple(map(int, np.array_split(np.arange(1, planes + 1), count)[band - 1])))
    raise WhatwhereError(
        f"expected a variation such as as-trained, logits-0.5, base-10 or closed-2of8 (at most {planes} bands), or "
        f"several with + between them, got {part!r}."
    )
