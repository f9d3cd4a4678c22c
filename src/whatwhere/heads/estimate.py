"""An estimate with its uncertainty as one value: Wilson's interval for a share, bootstrap for a mean.

All intervals are 95 %. Positions of one input are not independent, so means over them are resampled by input.
The tables of all studies import this module, so it loads numpy and scipy only when it computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float

CONFIDENCE = 0.95
RESAMPLES = 2000
_KEPT = 1 << 22
"""The largest cached draw, in numbers: 32 MB."""


@dataclass(frozen=True)
class Estimate:
    """A number, its 95 % interval and the number of observations. NaN where undefined."""

    value: float
    low: float
    high: float
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def __str__(self) -> str:
        """``.95 (.91-.97, n=100)``; numbers of 1 and more keep their first digit."""
        if math.isnan(self.value):
            return f"undefined (n={self.n})"
        value, low, high = (
            text.replace("0.", ".") if text.startswith(("0.", "-0.")) else text
            for text in (f"{x:.2f}" for x in (self.value, self.low, self.high))
        )
        return f"{value} ({low}-{high}, n={self.n})"


UNDEFINED = Estimate(math.nan, math.nan, math.nan, 0)


@lru_cache(maxsize=4096)
def share(successes: int, n: int) -> Estimate:
    """A share of n independent trials, with Wilson's interval, which has a width even if all trials agree.

    Raises:
        WhatwhereError: there are fewer than 0 or more than n successes.
    """
    if not 0 <= successes <= n:
        raise WhatwhereError(f"expected 0 to {n} successes in {n} trials, got {successes}; count them again.")
    if n == 0:
        return UNDEFINED
    from scipy.stats import binomtest

    ends = binomtest(successes, n).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(successes / n, float(ends.low), float(ends.high), n)


def mean(
    values: Float[np.ndarray, "n"] | Sequence[float], clusters: Sequence[int] | np.ndarray | None = None, seed: int = 0
) -> Estimate:
    """A mean with a bootstrap interval; whole clusters are resampled.

    Args:
        values: one number per observation; NaN where undefined, and left out.
        clusters: which cluster (input) each observation belongs to; by default each is its own.
        seed: of the resampling.
    """
    import numpy as np

    values = np.asarray(values, np.float64)
    index = np.arange(len(values)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    if len(index) != len(values):
        raise WhatwhereError(f"expected one cluster per value, got {len(index)} for {len(values)}; pass as many.")
    defined = ~np.isnan(values)
    n = int(defined.sum())
    if n == 0:
        return UNDEFINED
    counts = np.bincount(index, defined)
    sums = np.bincount(index, np.where(defined, values, 0))
    (found,) = ratios(sums[:, None], counts[:, None], [n], seed)
    return found


def ratios(
    sums: Float[np.ndarray, "cluster x"], counts: Float[np.ndarray, "cluster x"], n: Sequence[int], seed: int = 0
) -> list[Estimate]:
    """Ratios of two totals over clusters, with bootstrap intervals over clusters; all use the same draws.

    Args:
        sums: the contribution of each cluster to the numerator.
        counts: its contribution to the denominator, such as its number of observations.
        n: the number of observations of each ratio; 0 makes it undefined.
        seed: of the resampling.
    """
    if not len(sums):
        return [UNDEFINED for _ in n]
    low, high = percentiles(resampled_ratio(sums, counts, RESAMPLES, seed))
    return [
        Estimate(float(sums[:, x].sum() / counts[:, x].sum()), float(low[x]), float(high[x]), number)
        if number else UNDEFINED
        for x, number in enumerate(n)
    ]  # fmt: skip


def clustered_shares(holds: Bool[np.ndarray, "n x"], clusters: Sequence[int] | np.ndarray) -> list[Estimate]:
    """Shares of observations that come in clusters (positions of one input): intervals by resampling whole clusters.

    If all observations agree, resampling gives no spread; then Wilson's interval for the number of clusters is used.
    """
    import numpy as np

    n, (found, index) = len(holds), np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((len(found), holds.shape[1]))
    np.add.at(sums, index, holds)
    counts = np.zeros_like(sums) + np.bincount(index, minlength=len(found))[:, None]
    estimates = ratios(sums, counts, [n] * holds.shape[1])
    for x, hits in enumerate(holds.sum(0).tolist()):
        if hits in (0, n) or len(found) == n:
            estimates[x] = replace(share(round(hits * len(found) / max(1, n)), len(found)), n=n)
    return estimates


def bootstrap_interval(
    values: Float[np.ndarray, "inputs *heads"], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Float[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """The intervals of many means over the same inputs (first axis); see :func:`bootstrap_means`."""
    return percentiles(bootstrap_means(values, resamples=resamples, seed=seed))


def bootstrap_means(
    values: Float[np.ndarray, "inputs *heads"], *, resamples: int = RESAMPLES, seed: int = 0
) -> Float[np.ndarray, "resamples *heads"]:
    """The mean over inputs, for each of many draws of inputs with replacement; NaN values are left out.

    All heads use the same draws, so differences between heads stay comparable.

    Raises:
        WhatwhereError: there are no inputs.
    """
    import numpy as np

    if len(values) == 0:
        raise WhatwhereError("expected values of at least one input for an interval, got none; use more inputs.")
    flat = values.reshape(len(values), -1)
    defined = ~np.isnan(flat)
    means = resampled_ratio(np.where(defined, flat, 0.0), defined.astype(np.float64), resamples, seed)
    return means.reshape(resamples, *values.shape[1:])


def resampled_ratio(
    sums: Float[np.ndarray, "cluster x"], counts: Float[np.ndarray, "cluster x"], resamples: int, seed: int
) -> Float[np.ndarray, "resamples x"]:
    """Means over resampled clusters, from the sum and the number of observations of each.

    Drawing clusters with replacement is drawing how often each occurs, so the means of all heads are one product of
    matrices; ``scipy.stats.bootstrap`` would gather each sample and is a hundred times slower here.
    """
    import numpy as np

    draw = _times_drawn if len(sums) * resamples <= _KEPT else _times_drawn.__wrapped__
    times = draw(len(sums), resamples, seed)
    total, number = times @ sums, times @ counts
    return np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)


@lru_cache(maxsize=2)  # a study asks for many intervals over the same inputs, and drawing takes most of the time
def _times_drawn(clusters: int, resamples: int, seed: int) -> Float[np.ndarray, "resamples cluster"]:
    """How often each cluster occurs in each draw of as many clusters with replacement."""
    import numpy as np

    drawn = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)
    times = drawn.astype(np.float64)
    times.flags.writeable = False
    return times


def percentiles(
    drawn: Float[np.ndarray, "resamples *heads"],
) -> tuple[Float[np.ndarray, "*heads"], Float[np.ndarray, "*heads"]]:
    """The ends between which 95 % of the resampled numbers lie; NaN where none is defined."""
    import numpy as np

    flat = drawn.reshape(len(drawn), -1)
    tail = (1 - CONFIDENCE) / 2
    ends = np.full((2, flat.shape[1]), np.nan)
    some = ~np.isnan(flat).all(0)
    if some.any():
        ends[:, some] = np.nanquantile(flat[:, some], [tail, 1 - tail], axis=0)
    low, high = ends.reshape(2, *drawn.shape[1:])
    return low, high
