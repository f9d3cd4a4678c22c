"""Which swaps count and how much, and which queries are read: the choices that the paper leaves open (E15, E16)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.machine.limits import LEAST_TAU
from whatwhere.trace.layer import LayerTrace

TAU = 1e-4
"""The default temperature: the authors' own. The paper does not print it (erratum E15)."""
TAUS = (1e-4, 1e-3, 1e-2, 0.1)
"""The band of temperatures over which a statement about purity is reported."""
Reading = Literal["last", "path", "all"]
READINGS: tuple[Reading, ...] = get_args(Reading)
FIRST_QUERY = 2
"""The reading ``all`` begins with the third token: a query needs two keys before it to swap."""


@dataclass(frozen=True)
class Weighting:
    """Which swaps count, and how much."""

    tau: float = TAU
    """Temperature of the weights."""
    renormalised: bool = False
    """Whether the weights use attention renormalised over the keys that take part (not the paper's score)."""
    among: tuple[int, ...] | None = None
    """The positions whose keys take part in swaps; None for all (the paper's score)."""

    def __post_init__(self) -> None:
        if not (isinstance(self.tau, Real) and LEAST_TAU <= self.tau < math.inf):
            raise WhatwhereError(
                f"expected a tau above 0, got {self.tau!s:.80}; {LEAST_TAU} is the least, {TAU} the default."
            )

    def counted(self, layer: LayerTrace) -> Bool[Tensor, "query key"]:
        """The keys that each query's swaps are made of: visible ones but its own, as the query never moves."""
        place = layer.key_positions
        those = layer.visible & (place != layer.query_positions[:, None])
        return those if self.among is None else those & torch.isin(place, torch.tensor(self.among, device=place.device))


def band(taus: tuple[float, ...] = TAUS) -> list[Weighting]:
    """The paper's weighting at each temperature of the band."""
    return [Weighting(tau) for tau in taus]


def reading_mask(
    reading: Reading | str, seq: int, inputs: int, paths: Int[np.ndarray, "n visited"] | None = None
) -> Bool[np.ndarray, "n seq"]:
    """Which positions of each input are read as queries. The authors' script has three readings.

    ``last`` is the last token. ``path`` is every pointer on the hop path: the last token and each visited position but
    the one that holds the answer; ``paths`` are those of a :class:`whatwhere.tasks.batch.Batch`. ``all`` is every
    position from the third token on.

    Raises:
        WhatwhereError: there is no such reading, or the paths are missing or of another number of inputs.
    """
    place = np.arange(seq)
    if reading == "last":
        return np.broadcast_to(place == seq - 1, (inputs, seq))
    if reading == "all":
        return np.broadcast_to(place >= FIRST_QUERY, (inputs, seq))
    if reading != "path":
        raise WhatwhereError(f"expected a reading of {', '.join(READINGS)}, got {reading!r}; choose one of them.")
    if paths is None or len(paths) != inputs:
        got = "none" if paths is None else str(len(paths))
        raise WhatwhereError(f"expected the paths of {inputs} inputs, got {got}; pass paths=batch.paths.")
    visited = paths >= 0  # -1 fills the rest
    pointer = visited & np.roll(np.pad(visited, ((0, 0), (0, 1))), -1, 1)[:, :-1]  # something follows: not the answer
    mask = np.zeros((inputs, seq), bool)
    rows, steps = np.nonzero(pointer)
    mask[rows, paths[rows, steps]] = True
    return mask
