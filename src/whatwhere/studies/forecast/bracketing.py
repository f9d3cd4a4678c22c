"""Where a falling curve crosses thresholds, from as few lengths as possible: doubling, then bisection in log length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from whatwhere.heads.estimate import Estimate

PER_DOUBLING = 4
"""Lengths between n and 2n: neighbours differ by 19 %, and the break is interpolated between two of them."""


def length_grid(trained: int, longest: int) -> list[int]:
    """Lengths from that of training to the longest, evenly spaced in the logarithm."""
    steps = math.ceil(PER_DOUBLING * math.log2(longest / trained))
    return sorted({min(longest, round(trained * 2 ** (step / PER_DOUBLING))) for step in range(steps + 1)})


def bracketed(
    curve: Callable[[int], Estimate], grid: Sequence[int], thresholds: Sequence[float]
) -> dict[int, Estimate]:
    """The curve at the lengths that bracket each threshold, and at those evaluated during the search.

    Each length is evaluated once. The grid is increasing, and the two bracketing lengths are neighbours in it.
    """
    found: dict[int, Estimate] = {}

    def below(index: int, threshold: float) -> bool:
        length = grid[index]
        if length not in found:
            found[length] = curve(length)
        return found[length].value < threshold

    last = len(grid) - 1
    for threshold in sorted(thresholds, reverse=True):
        low, high = 0, 0
        while not below(high, threshold) and high < last:
            low, high = high, min(last, high + PER_DOUBLING)
        while below(high, threshold) and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if below(middle, threshold) else (middle, high)
    return found
