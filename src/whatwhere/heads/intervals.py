"""How sure a mean over inputs is: percentile bootstrap for any mean, Wilson's interval for a share of inputs."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from whatwhere.errors import WhatwhereError

CONFIDENCE = 0.95
RESAMPLES = 2000


def bootstrap_interval(
    values: Float[np.ndarray, "inputs *heads"],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Float[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """The interval in which the mean over inputs would fall, had other inputs of the same kind been drawn.

    The same resampled inputs serve all heads, so differences between heads stay comparable.

    Args:
        values: one number per input (first axis) and head; NaN where undefined, and left out.
        confidence: share of the resampled means inside the interval, between 0 and 1.
        resamples: how many times the inputs are drawn anew; more only smooths the interval's ends.
        seed: of the draws.

    Returns:
        The lower and upper end; NaN where nothing is defined.

    Raises:
        WhatwhereError: the confidence is out of range, or there are no inputs.
    """
    _check_confidence(confidence)
    return percentiles(bootstrap_means(values, resamples=resamples, seed=seed), confidence)


def bootstrap_means(
    values: Float[np.ndarray, "inputs *heads"], *, resamples: int = RESAMPLES, seed: int = 0
) -> Float[np.ndarray, "resamples *heads"]:
    """The mean over inputs, had other inputs been drawn: once for each draw with replacement from these.

    Raises:
        WhatwhereError: there are no inputs.
    """
    inputs = len(values)
    if inputs == 0:
        raise WhatwhereError("an interval over at least one input was asked for, and there are none.")
    # Drawing inputs with replacement is drawing how often each occurs: the means are then one matrix product.
    times = np.random.default_rng(seed).multinomial(inputs, np.full(inputs, 1 / inputs), size=resamples)
    flat = values.reshape(inputs, -1)
    defined = ~np.isnan(flat)
    counts = times.astype(np.float64) @ defined.astype(np.float64)  # [resample, head]
    sums = times.astype(np.float64) @ np.where(defined, flat, 0.0)
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means.reshape(resamples, *values.shape[1:])


def percentiles(
    drawn: Float[np.ndarray, "resamples *heads"], confidence: float = CONFIDENCE
) -> tuple[Float[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """The ends between which the given share of the resampled numbers lies; NaN where none is defined."""
    flat = drawn.reshape(len(drawn), -1)
    tail = (1 - confidence) / 2
    low, high = np.full(flat.shape[1], np.nan), np.full(flat.shape[1], np.nan)
    some = ~np.isnan(flat).all(0)
    if some.any():
        low[some], high[some] = np.nanquantile(flat[:, some], [tail, 1 - tail], axis=0)
    return low.reshape(drawn.shape[1:]), high.reshape(drawn.shape[1:])


def wilson_interval(hits: int, inputs: int, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval for a proportion; unlike the bootstrap it has a width when all inputs agree.

    Args:
        hits: inputs for which something holds.
        inputs: all of them; 0 gives NaN.
        confidence: between 0 and 1.

    Raises:
        WhatwhereError: the confidence is out of range, or there are more hits than inputs.
    """
    _check_confidence(confidence)
    if not 0 <= hits <= inputs:
        raise WhatwhereError(f"from 0 to {inputs} hits among {inputs} inputs were expected, and {hits} arrived.")
    if inputs == 0:
        return float("nan"), float("nan")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    share = hits / inputs
    centre = share + z2 / (2 * inputs)
    half = (z2 * (share * (1 - share) / inputs + z2 / (4 * inputs**2))) ** 0.5
    low, high = (centre - half) / (1 + z2 / inputs), (centre + half) / (1 + z2 / inputs)
    return max(0.0, low) if hits else 0.0, min(1.0, high) if hits < inputs else 1.0


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise WhatwhereError(f"a confidence between 0 and 1 was expected, and {confidence} arrived.")
