"""The settings and the tables of the dynamics study: accuracy, scores and purity along training (Figure 2)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate
from whatwhere.machine.limits import LEAST_TAU

Split = Literal["validation", "scored", "test"]
"""Which inputs accuracy is measured on: the training's own evaluations, the scored inputs, or the test split."""


@dataclass(frozen=True)
class DynamicsSettings:
    """What decides the tables."""

    inputs: Annotated[int, "Sequences to score on, in equal hop classes; the authors took 1,200."] = 1200
    seed: Annotated[int, "Seed of these sequences."] = 0
    tau: Annotated[float, "Temperature of the swap weights in the table of scores; the authors' is 1e-4."] = 1e-4
    readings: Annotated[int, "Checkpoints, spread over the run, at which other queries than the last are read."] = 25
    checkpoints: Annotated[
        int | None, "About how many checkpoints to score, denser early in the run; all if not given."
    ] = None
    gradients: Annotated[bool, "Also measure the gradient of each layer up to the first pure head."] = False

    def __post_init__(self) -> None:
        check_least(self, inputs=1, readings=1, checkpoints=1)
        if not LEAST_TAU <= self.tau < math.inf:
            raise WhatwhereError(
                f"expected a tau above 0, got {self.tau}; {LEAST_TAU} is the least, the authors' is 1e-4."
            )

    def decisive(self) -> dict[str, Any]:
        """What a manifest keeps: results do not depend on an option that was not given."""
        return {name: value for name, value in asdict(self).items() if value is not None and value is not False}

    @property
    def taus(self) -> tuple[float, ...]:
        """Every temperature that is measured: the band over which purity is reported, and the chosen one."""
        from whatwhere.heads.weighting import TAUS

        return tuple(sorted({*TAUS, self.tau}))


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of one hop class at one checkpoint (Figure 2A)."""

    step: int
    split: Split
    hop: int
    accuracy: Estimate
    """The share of right answers."""


@dataclass(frozen=True)
class Score:
    """One head at one checkpoint (Figure 2B): means over inputs and queries."""

    step: int
    layer: int
    head: int
    reading: str
    """The queries of the means: the ``last``, those on the hop ``path``, ``all`` from the third token on, or ``chosen``
    ones, where somebody named positions."""
    tau: float
    positional: float
    symbolic: float
    entropy: float
    """Of attention, in nats."""
    entropy_share: float
    """Entropy divided by its maximum, the logarithm of the number of visible keys."""
    own: float
    """Attention that a query pays to its own position."""
    n: int
    """Pairs of an input and a query that have a score; the others have fewer than two keys to swap."""


@dataclass(frozen=True)
class PureHead:
    """When one head became pure (Figure 2C)."""

    gamma: float
    reading: str
    tau: float
    kind: str
    """``positional`` or ``symbolic``."""
    layer: int
    head: int
    first: int | None
    """The first checkpoint at which it was pure; none if it never was."""
    for_good: int | None
    """The checkpoint from which it stayed pure to the end; none if it did not."""


@dataclass(frozen=True)
class Lag:
    """One head that became pure for good, against one hop class (gamma 0.1, last query, the chosen tau)."""

    layer: int
    head: int
    kind: str
    hop: int
    pure: int
    """The checkpoint from which the head stayed pure."""
    learned: int
    """The step at which the hop class reached 0.9."""
    lag: int
    """The first less the second: negative where the head came first."""


@dataclass(frozen=True)
class Gradient:
    """The gradient of the queries and keys of one layer at one checkpoint, on validation inputs, without dropout."""

    step: int
    layer: int
    size: float
    """Its norm over that of the weights."""
    agreement: float
    """The cosine between the gradients of two disjoint halves of the inputs: near 0 it is noise."""
