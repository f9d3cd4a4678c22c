"""The settings and tables of a watched training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from operator import index
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.heads.weighting import Weighting

EVERY = 200
BUDGET = 0.05


def _whole(name: str, given: Any) -> tuple[int, ...]:
    try:
        return tuple(index(one) for one in given)
    except TypeError as error:
        raise WhatwhereError(f"{name}: expected whole numbers in a list, got {given!r:.80}.") from error


def _pairs(name: str, given: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((index(layer), index(head)) for layer, head in given)
    except (TypeError, ValueError) as error:
        raise WhatwhereError(f"{name}: expected pairs (layer, head) in a list, got {given!r:.80}.") from error


@dataclass(frozen=True)
class WatchOptions:
    """When and what a watch scores."""

    every: int = EVERY
    """Score at multiples of this number of steps."""
    layers: Sequence[int] | None = None
    """Score all heads of these layers, from 0."""
    heads: Sequence[tuple[int, int]] | None = None
    """Score these heads, each as (layer, head). With neither layers nor heads, all are scored."""
    queries: Sequence[int] | None = None
    """Which query positions (negative: from the end); only the last by default."""
    tau: float = 1e-4
    """Temperature of the swap weights; the authors' by default."""
    budget: float | None = BUDGET
    """The share of the training time that scoring may take: a due step is left out while it would take more. None
    leaves none out. The first and the final scoring are never left out."""

    def __post_init__(self) -> None:
        if not (isinstance(self.every, Integral) and self.every >= 1):
            raise WhatwhereError(f"every: expected a number of steps from 1, got {self.every!r:.80}.")
        if not (self.budget is None or (isinstance(self.budget, Real) and 0 < self.budget <= 1)):
            raise WhatwhereError(f"budget: expected a share of the training time from 0 to 1, got {self.budget!r:.80}.")
        Weighting(self.tau)  # refuses a tau that is none
        for name, read in (("layers", _whole), ("queries", _whole), ("heads", _pairs)):
            if getattr(self, name) is not None:  # as tuples, whatever it came as: a range, an array, a tensor
                object.__setattr__(self, name, read(name, getattr(self, name)))
        numbers = (*(self.layers or ()), *(number for pair in self.heads or () for number in pair))
        if any(number < 0 for number in numbers):
            raise WhatwhereError(f"expected layers and heads from 0, got {min(numbers)}.")

    @property
    def chosen(self) -> dict[int, set[int]]:
        """The heads to score by layer, none named for all of a layer; empty for all of the model."""
        chosen: dict[int, set[int]] = {}
        for layer, head in self.heads or ():
            chosen.setdefault(layer, set()).add(head)
        return chosen | {layer: set() for layer in self.layers or ()}


@dataclass(frozen=True)
class WatchSettings:
    """The settings that determine the scores besides the weights."""

    model: str
    """Its class."""
    layers: tuple[int, ...] | None
    heads: tuple[tuple[int, int], ...] | None
    queries: tuple[int, ...] | None
    tau: float
    inputs: int
    """Held-out sequences."""
    length: int
    """Tokens of each."""


@dataclass(frozen=True)
class Loss:
    """The training loss at a scored step, if it was given."""

    step: int
    loss: float
