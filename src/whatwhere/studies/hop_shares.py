"""Shares of inputs by hop class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.heads.estimate import Estimate, share


def shares_by_hop(right: Bool[np.ndarray, "n"], hops: Int[np.ndarray, "n"]) -> list[tuple[int | None, Estimate]]:
    """The share of inputs of each hop class for which something holds, then the mean over classes (None).

    Classes have Wilson's interval. The mean gives each class the same weight, as in the paper. Its interval is that of
    all inputs pooled: classes differ in size by one input at most, and the pooled interval is then the wider one.
    """
    classes = [int(hop) for hop in np.unique(hops)]
    each = [(hop, share(int(right[hops == hop].sum()), int((hops == hop).sum()))) for hop in classes]
    mean = float(np.mean([estimate.value for _, estimate in each]))
    return [*each, (None, replace(share(int(right.sum()), len(right)), value=mean))]
