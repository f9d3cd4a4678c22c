"""When a hop class is learned: where its accuracy, fitted by a curve that never falls, crosses 0.9 (Section 3.3).

A single evaluation may cross the line by chance and fall back. The isotonic fit pools neighbouring evaluations just as
far as it must, so it needs no window and no smoothing parameter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from whatwhere.heads.estimate import Estimate, percentiles
from whatwhere.studies.evidence import LEARNED

if TYPE_CHECKING:
    from whatwhere.studies.dynamics.history import Training

_RESAMPLES = 200


def crossing(steps: Int[np.ndarray, "step"], accuracy: Float[np.ndarray, "step"], level: float = LEARNED) -> float:
    """The step at which the isotonic fit of an accuracy reaches a level, linear between steps; NaN if it never does."""
    from scipy.optimize import isotonic_regression

    known = ~np.isnan(accuracy)
    if not known.any():
        return math.nan
    steps, fitted = steps[known], isotonic_regression(accuracy[known]).x
    if fitted[-1] < level:
        return math.nan
    at = int((fitted >= level).argmax())
    around = slice(max(at - 1, 0), at + 1)
    return float(np.interp(level, fitted[around], steps[around]))


def crossings(run: Training) -> dict[int, float]:
    """The step at which each hop class is learned; NaN for a class that never is."""
    return {hop: crossing(run.steps, curve) for hop, curve in zip(run.hops, run.accuracy.T, strict=True)}


def spread(run: Training, seed: int = 0) -> Estimate:
    """The step at which the last hop class is learned, over that of the first; NaN if one never is.

    The interval draws each accuracy anew from its number of inputs and fits again.
    """
    rng = np.random.default_rng(seed)
    counts = run.counts.astype(np.int64)  # [step, hop]
    drawn = [_ratio(run.steps, rng.binomial(counts, run.accuracy) / counts) for _ in range(_RESAMPLES)]
    low, high = percentiles(np.array(drawn)[:, None])
    return Estimate(_ratio(run.steps, run.accuracy), float(low[0]), float(high[0]), int(counts[-1].sum()))


def _ratio(steps: Int[np.ndarray, "step"], shares: Float[np.ndarray, "step hop"]) -> float:
    found = [crossing(steps, curve) for curve in shares.T]
    return max(found) / max(min(found), 1.0) if not any(map(math.isnan, found)) else math.nan
