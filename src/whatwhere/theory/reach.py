"""Beyond the paper: the longest input of each construction, and which RoPE frequencies suit which mechanism.

Index wants a fast angle (neighbours must differ) and loses margin as 1 / n^2; Retrieval wants a slow one (distance must
not matter) and loses margin until (2 n - 3) theta reaches the angle between two letters. So the two mechanisms use
opposite ends of the frequency table; how far apart depends on the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from whatwhere.errors import WhatwhereError
from whatwhere.theory import temperature
from whatwhere.theory.arguments import LONGEST, check_angle, check_beta, check_length, check_letters, repeats_at
from whatwhere.theory.discrepancy import gaps, index_smallest, retrieval_smallest, retrieval_smallest_formula

RESOLUTION = 2.0**-24
"""The smallest margin that counts: half a unit in the last place of a float32 logit near 1. Smaller lets hard attention
rely on differences that single precision does not represent; larger calls usable lengths unusable."""


@dataclass(frozen=True)
class Reach:
    """What one construction can do at one angle."""

    head: str
    frequency_id: int | None
    """Of the paper's 64 frequencies; none for an angle of your own."""
    theta: float
    length: int
    margin: float
    """The smallest discrepancy at that length; at or below 0 no inverse temperature helps."""
    needed_beta: float
    """The least inverse temperature at that length; undefined where none serves."""
    sufficient_beta: float
    """The lemma's estimate of it; undefined likewise."""
    longest: int
    """The longest input with a margin that float32 represents, under hard attention; 100,000 means "at least that"."""
    longest_at_beta: int | None
    """The longest input at the given inverse temperature, if one was given."""


def index_reach(theta: float, length: int, *, integers: int | None = None, beta: float | None = None) -> Reach:
    """The reach of T_Index. An angle at which two distances look the same (0, or a fraction of a turn) has no margin.

    ``integers`` is the largest integer there is, any by default; ``beta`` an inverse temperature to ask about.
    """
    check_length(length)
    check_angle(theta)
    short = np.flatnonzero(gaps(theta, LONGEST - 1) <= RESOLUTION)
    longest = int(short[0]) + 1 if len(short) else LONGEST  # distance t enters at length t + 1
    works = repeats_at(theta, length) is None
    return Reach(
        head="index",
        frequency_id=None,
        theta=theta,
        length=length,
        margin=index_smallest(length, theta) if works else 0.0,
        needed_beta=temperature.index_minimum_beta(length, theta, integers) if works else math.nan,
        sufficient_beta=temperature.index_sufficient_beta(length, theta) if works else math.nan,
        longest=longest,
        longest_at_beta=_longest(lambda beta, n: temperature.index_serves(beta, n, theta, integers), beta, longest),
    )


def retrieval_reach(theta: float, length: int, *, letters: int = 8, beta: float | None = None) -> Reach:
    """The reach of T_Retrieval on left-unique inputs; see :func:`index_reach`."""
    needed = max(
        temperature.retrieval_minimum_beta(length, theta, letters),
        temperature.retrieval_self_minimum_beta(length, theta, letters),
    )
    most = math.ceil(min(LONGEST + 1, (math.tau / letters / theta + 3) / 2 if theta else math.inf)) - 1
    has_margin = (n for n in range(most, 1, -1) if retrieval_smallest_formula(n, theta, letters) > RESOLUTION)
    longest = next(has_margin, 1)
    return Reach(
        head="retrieval",
        frequency_id=None,
        theta=theta,
        length=length,
        margin=retrieval_smallest(length, theta, letters),
        needed_beta=defined(needed),
        sufficient_beta=defined(temperature.retrieval_sufficient_beta(length, theta, letters)),
        longest=longest,
        longest_at_beta=_longest(lambda beta, n: temperature.retrieval_serves(beta, n, theta, letters), beta, longest),
    )


def defined(beta: float) -> float:
    """A number, or NaN for the infinity that means "no beta serves"."""
    return beta if math.isfinite(beta) else math.nan


def _longest(serves: Callable[[float, int], bool], beta: float | None, most: int) -> int | None:
    """The longest length, up to ``most``, that beta serves. Longer inputs need more, so halving finds it."""
    if beta is None:
        return None
    check_beta(beta)
    low, high = 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if serves(beta, middle) else (low, middle)
    return low


def margin_map(
    thetas: Float[np.ndarray, "theta"], lengths: Int[np.ndarray, "n"], letters: int = 8
) -> tuple[Float[np.ndarray, "theta n"], Float[np.ndarray, "theta n"]]:
    """The smallest discrepancy of Index and of Retrieval at each angle and length; 0 or less where it cannot serve.

    Angles at which Index aliases are not refused: their margin is 0, as the map should show.
    """
    if lengths.min() < 3:
        raise WhatwhereError(f"expected a map of lengths from 3, got {lengths.min()}.")
    check_letters(letters)
    omega = math.tau / letters
    angle = thetas[:, None]
    nearest = np.stack([np.minimum.accumulate(gaps(float(theta), int(lengths.max()) - 1)) for theta in thetas])
    # retrieval_smallest_formula for all at once; past its range a wrong token wins, which the map shows as no margin
    turn = np.minimum(omega, (2 * lengths - 3) * angle)
    retrieval = 2 * np.sin(np.maximum(0, omega - angle) / 2) * np.sin((omega - turn) / 2)
    return nearest[:, lengths - 2], retrieval
