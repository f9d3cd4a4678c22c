"""Pure heads, and the steps at which they became pure (Section "Learning dynamics", Figure 2C; erratum E18).

A head is positional-pure at tolerance gamma when ``s_pos >= 1 - gamma`` and ``s_sym <= gamma``; symbolic-pure is the
mirror image. The paper does not say when a head counts as converged; here it is *pure for good* from the first
checkpoint from which on it is pure, of one kind, at every later one. The first pure checkpoint is reported too.

Scores depend on tau (erratum E15), so a statement about purity is reported over a band of tau: :func:`pure_over` says
which heads are pure at every tau of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from whatwhere.errors import WhatwhereError

Kind = Literal["positional", "symbolic"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GAMMAS = (0.1, 0.05)
"""The two tolerances of the appendix; the one of Figure 2C is not given, and 0.1 is used."""
SLACK = 0.005
"""Mean accuracy within this distance of its maximum counts as maximal."""


@dataclass(frozen=True, eq=False)
class Purity:
    """Which heads are pure at which checkpoint."""

    steps: Int[np.ndarray, "step"]
    gamma: float
    positional: Bool[np.ndarray, "step layer head"]
    symbolic: Bool[np.ndarray, "step layer head"]

    def pure(self, kind: Kind) -> Bool[np.ndarray, "step layer head"]:
        """Whether each head is pure of one kind, at each checkpoint."""
        return self.positional if kind == "positional" else self.symbolic

    def first(self, kind: Kind) -> Float[np.ndarray, "layer head"]:
        """The step at which each head was first pure; NaN if never."""
        return self._step_of_first(self.pure(kind))

    def for_good(self, kind: Kind) -> Float[np.ndarray, "layer head"]:
        """The step from which each head stayed pure to the end of the run; NaN if it did not."""
        stays = np.logical_and.accumulate(self.pure(kind)[::-1], axis=0)[::-1]
        return self._step_of_first(stays)

    def joined(self, kind: Kind) -> list[tuple[int, int, int]]:
        """The heads that became pure for good as (step, layer, head), in this order: the staircase of Figure 2C."""
        since = self.for_good(kind)
        pure = np.argwhere(~np.isnan(since)).tolist()
        return sorted((int(since[layer, head]), layer, head) for layer, head in pure)

    def _step_of_first(self, condition: np.ndarray) -> np.ndarray:
        if not len(self.steps):
            return np.full(condition.shape[1:], np.nan)
        return np.where(condition.any(0), self.steps[condition.argmax(0)], np.nan)


def purity(
    steps: Int[np.ndarray, "step"],
    positional: Float[np.ndarray, "step layer head"],
    symbolic: Float[np.ndarray, "step layer head"],
    gamma: float = GAMMAS[0],
) -> Purity:
    """Which heads are pure along a run, from the scores of its checkpoints; an undefined score is not pure.

    Raises:
        WhatwhereError: gamma is not above 0 and below one half.
    """
    check_gamma(gamma)
    return Purity(
        steps=steps,
        gamma=gamma,
        positional=(positional >= 1 - gamma) & (symbolic <= gamma),
        symbolic=(symbolic >= 1 - gamma) & (positional <= gamma),
    )


def pure_over(band: Sequence[Purity]) -> Purity:
    """The heads that are pure, of one kind, at every temperature of a band; of the same checkpoints and gamma.

    Raises:
        WhatwhereError: the band is empty, or mixes checkpoints or tolerances.
    """
    same = bool(band) and all(p.gamma == band[0].gamma and np.array_equal(p.steps, band[0].steps) for p in band)
    if not same:
        raise WhatwhereError(
            f"expected the purity of the same checkpoints at one gamma for each tau, got {len(band)} that differ; "
            "make each of them with the same steps and gamma."
        )
    both = (np.logical_and.reduce([each.pure(kind) for each in band]) for kind in KINDS)
    return Purity(band[0].steps, band[0].gamma, *both)


def label_of(positional: float, symbolic: float, gamma: float = GAMMAS[0]) -> str:
    """A name for a pair of scores.

    ``positional`` and ``symbolic`` are the paper's pure heads at tolerance gamma. ``uniform`` has both scores high: the
    keys that it looks at get equal shares. ``mixed`` is everything else, and ``undefined`` has no score.
    """
    check_gamma(gamma)
    if math.isnan(positional) or math.isnan(symbolic):
        return "undefined"
    if min(positional, symbolic) >= 1 - gamma:
        return "uniform"
    if positional >= 1 - gamma and symbolic <= gamma:
        return "positional"
    if symbolic >= 1 - gamma and positional <= gamma:
        return "symbolic"
    return "mixed"


def check_gamma(gamma: float) -> None:
    """Raises an error for a tolerance at which a head could be pure of both kinds, or of none."""
    if not 0 < gamma < 0.5:
        raise WhatwhereError(f"expected a gamma between 0 and 0.5, got {gamma}; the paper uses 0.1 and 0.05.")


def step_of_maximal_accuracy(metrics: Sequence[Mapping[str, float]], slack: float = SLACK) -> float:
    """The moment t* of the paper: the first checkpoint within ``slack`` of the run's best mean accuracy (erratum E18).

    The metrics are rows with ``step`` and ``accuracy``, as the run's ``metrics.csv`` has them. NaN if no accuracy is
    defined.
    """
    known = [(row["step"], row["accuracy"]) for row in metrics if not math.isnan(row["accuracy"])]
    best = max((accuracy for _, accuracy in known), default=math.nan)
    return next((step for step, accuracy in known if accuracy >= best - slack), math.nan)
