"""Numbers over seeds: a mean with Student's interval, and how it is reported.

The unit is a training. Two rules prevent false certainty with few seeds: fewer than three give no verdict, and if all
seeds agree exactly (as counts of heads may), there is no interval, because Student's would have no width.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from whatwhere.heads.estimate import CONFIDENCE, UNDEFINED, Estimate

FEWEST_SEEDS = 3
"""For a verdict."""
_EQUAL = 1e-9


def over_seeds(values: Iterable[float], least: float = -math.inf, most: float = math.inf) -> Estimate:
    """A mean over seeds with a 95 % t interval; undefined values are left out.

    The ends are undefined for a single seed, and where all seeds agree.

    Args:
        values: one for each seed.
        least: the lower limit of the interval, for a share or a correlation.
        most: its upper limit.
    """
    import numpy as np
    from scipy.stats import t

    known = np.array([value for value in values if not math.isnan(value)])
    n = len(known)
    if n == 0:
        return UNDEFINED
    middle = float(known.mean())
    if np.ptp(known) <= _EQUAL * max(1.0, abs(middle)):
        return Estimate(middle, math.nan, math.nan, n)
    half = float(t.ppf((1 + CONFIDENCE) / 2, n - 1) * known.std(ddof=1) / math.sqrt(n))
    return Estimate(middle, max(middle - half, least), min(middle + half, most), n)


def excludes_zero(value: Estimate) -> bool:
    """Whether there is an interval, and 0 is not in it."""
    return value.low > 0 or value.high < 0


def estimate_text(value: Estimate) -> str:
    """``0.33 (0.26 to 0.41, 3 seeds)``."""
    shown = f"{round(value.value, 9) + 0.0:.3g}"  # rounding errors of a difference become 0
    if not math.isnan(value.low):
        return f"{shown} ({value.low:.3g} to {value.high:.3g}, {value.n} seeds)"
    return f"{shown} ({'1 seed' if value.n == 1 else f'the same with each of {value.n} seeds'}, no interval)"
