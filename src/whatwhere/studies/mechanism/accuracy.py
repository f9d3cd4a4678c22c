"""Shares of right answers per hop class, with their counts and intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.heads.estimate import share

MEAN = 0
"""The hop class under which the mean over classes stands (the paper's average: equal weights)."""


def shares_by_hop(
    right: Bool[np.ndarray, "n"], hops: Int[np.ndarray, "n"]
) -> Iterator[tuple[int, float, float, float, int]]:
    """Hop class, share of right answers, the interval's ends and the number of inputs; class 0 is the mean of them.

    Classes have Wilson's interval. So has the mean, over all inputs: classes are equally large up to one input, and
    then the pooled interval is the wider one wherever classes differ.
    """
    for hop in np.unique(hops):
        here = right[hops == hop]
        yield int(hop), float(here.mean()), *share(int(here.sum()), len(here)).interval, len(here)
    mean = float(np.mean([right[hops == hop].mean() for hop in np.unique(hops)]))
    yield MEAN, mean, *share(int(right.sum()), len(right)).interval, len(right)
