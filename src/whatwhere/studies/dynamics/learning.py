"""When a hop class is learned: where its accuracy, fitted by a curve that never falls, crosses 0.9 (Section 3.3).

A single evaluation may cross the threshold by chance and fall back. The isotonic fit pools neighbouring evaluations
only as far as necessary, so it needs no window and no smoothing parameter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import isotonic_regression
from scipy.stats import binom

from whatwhere.heads.estimate import Estimate, percentiles
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.evidence import LEARNED

_RESAMPLES = 200
_UNSURE = 0.05


def crossing(
    steps: Int[np.ndarray, "step"], accuracy: Float[np.ndarray, "step"], counts: Float[np.ndarray, "step"] | None = None
) -> float:
    """The step at which the isotonic fit of an accuracy reaches 0.9, linear between steps; NaN if it never does.

    The counts are the inputs of each evaluation, its weight in the fit: equal ones by default. NaN is no evaluation.
    """
    known = ~np.isnan(accuracy)
    if not known.any():
        return math.nan
    weights = None if counts is None else counts[known]
    steps, fitted = steps[known], isotonic_regression(accuracy[known], weights=weights).x
    if fitted[-1] < LEARNED:
        return math.nan
    at = int((fitted >= LEARNED).argmax())
    around = slice(max(at - 1, 0), at + 1)
    return float(np.interp(LEARNED, fitted[around], steps[around]))


def crossings(run: Training, accuracy: Float[np.ndarray, "step hop"] | None = None) -> dict[int, float]:
    """The step at which each hop class is learned, by its own accuracy or by another; NaN for a class that never is."""
    curves = zip(run.hops, (run.accuracy if accuracy is None else accuracy).T, run.counts.T, strict=True)
    return {hop: crossing(run.steps, curve, counts) for hop, curve, counts in curves}


def spread(run: Training, seed: int = 0) -> Estimate:
    """The step at which the last hop class is learned, over that of the first; NaN if one never is."""
    ratios = np.array([_ratio(steps) for steps in _drawn(run, seed)])
    low, high = percentiles(ratios[:, None])
    inputs = int(np.median(run.counts.sum(1)))
    return Estimate(_ratio(list(crossings(run).values())), float(low[0]), float(high[0]), inputs)


def in_order(run: Training, seed: int = 0) -> bool | None:
    """Whether hop classes are learned from the fewest hops to the most; None if 95 % of the draws do not agree."""
    ordered = float(np.mean((np.diff(_drawn(run, seed)) >= 0).all(1)))  # a class that never is learned is in no order
    return None if _UNSURE < ordered < 1 - _UNSURE else ordered > _UNSURE


def learned_steps(run: Training, seed: int = 0) -> dict[int, Estimate]:
    """The step at which each hop class is learned, with an interval over inputs."""
    low, high = percentiles(_drawn(run, seed))
    inputs = np.median(run.counts, 0).astype(int).tolist()
    found = zip(crossings(run).items(), low.tolist(), high.tolist(), inputs, strict=True)
    return {hop: Estimate(step, at_least, at_most, n) for (hop, step), at_least, at_most, n in found}


def _drawn(run: Training, seed: int) -> Float[np.ndarray, "resample hop"]:
    """Crossings of resampled accuracies: binomial draws with their numbers of inputs, fitted again.

    All evaluations use the same inputs, so those of a hop class are drawn at the same quantile: hard inputs stay hard.
    Independent draws would cancel in the fit and make the interval too narrow.
    """
    quantiles = np.random.default_rng(seed).random((_RESAMPLES, 1, len(run.hops)))
    drawn = binom.ppf(quantiles, run.counts, run.accuracy) / run.counts  # [resample, step, hop]
    return np.array([[*crossings(run, accuracy).values()] for accuracy in drawn])


def _ratio(steps: Iterable[float]) -> float:
    found = list(steps)
    return max(found) / max(min(found), 1.0) if not any(map(math.isnan, found)) else math.nan
