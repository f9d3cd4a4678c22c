"""Past the paper: how long an input each construction can handle, and which RoPE frequencies can serve which mechanism.

Index wants a fast angle (neighbours must differ) and loses margin as 1 / n^2; Retrieval wants a slow one (distance must
not matter) and loses margin until (2 n - 3) theta reaches the angle between two letters. So the two mechanisms live at
opposite ends of the frequency table, and how far apart depends on the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from whatwhere.errors import WhatwhereError
from whatwhere.theory.arguments import check_beta, check_index_angle, check_letters
from whatwhere.theory.discrepancy import gaps, index_smallest, retrieval_smallest, retrieval_smallest_formula
from whatwhere.theory.temperature import (
    index_minimum_beta,
    index_sufficient_beta,
    retrieval_minimum_beta,
    retrieval_self_minimum_beta,
    retrieval_sufficient_beta,
)

RESOLUTION = 2.0**-24
"""The smallest margin that counts: half a unit in the last place of a float32 logit near 1. Smaller lets hard attention
rely on differences that single precision does not represent; larger calls usable lengths unusable."""
HORIZON = 100_000
"""Lengths are searched up to here; a longest input of HORIZON means "at least that"."""


@dataclass(frozen=True)
class Reach:
    """What one construction can do at one angle."""

    head: str
    theta: float
    length: int
    margin: float
    """The smallest discrepancy at ``length``; at or below 0 no temperature helps."""
    needed_beta: float | None
    """The least inverse temperature at ``length``; None if none serves."""
    sufficient_beta: float | None
    """The lemma's estimate of it; None likewise."""
    longest: int
    """The longest input with a margin above RESOLUTION, under hard attention."""
    longest_at_beta: int | None
    """The longest input at the given inverse temperature; None if none was given."""


def index_reach(theta: float, length: int, *, integers: int | None = None, beta: float | None = None) -> Reach:
    """The reach of T_Index.

    Args:
        theta: the angle.
        length: the length of interest; the angle must tell apart the distances below it.
        integers: the largest integer there is; any by default.
        beta: an inverse temperature to ask about.
    """
    check_index_angle(theta, length)
    margins = gaps(theta, HORIZON)
    short = np.flatnonzero(margins <= RESOLUTION)
    longest = int(short[0]) + 1 if len(short) else HORIZON  # distance t enters at length t + 1
    return Reach(
        head="index",
        theta=theta,
        length=length,
        margin=index_smallest(length, theta),
        needed_beta=index_minimum_beta(length, theta, integers),
        sufficient_beta=index_sufficient_beta(length, theta),
        longest=longest,
        longest_at_beta=_longest(lambda n: index_minimum_beta(n, theta, integers), beta, longest),
    )


def retrieval_reach(theta: float, length: int, *, letters: int = 8, beta: float | None = None) -> Reach:
    """The reach of T_Retrieval on left-unique inputs; see :func:`index_reach`."""
    if theta == 0:
        longest = HORIZON
    else:
        most = min(HORIZON, math.ceil((math.tau / letters / theta + 3) / 2) - 1)
        longest = next((n for n in range(most, 1, -1) if retrieval_smallest_formula(n, theta, letters) > RESOLUTION), 1)

    def needed(n: int) -> float:
        return max(retrieval_minimum_beta(n, theta, letters), retrieval_self_minimum_beta(n, theta, letters))

    return Reach(
        head="retrieval",
        theta=theta,
        length=length,
        margin=retrieval_smallest(length, theta, letters),
        needed_beta=finite(needed(length)),
        sufficient_beta=finite(retrieval_sufficient_beta(length, theta, letters)),
        longest=longest,
        longest_at_beta=_longest(needed, beta, longest),
    )


def finite(beta: float) -> float | None:
    """A number, or None for the infinity that means "no beta serves" (JSON knows no infinity)."""
    return beta if math.isfinite(beta) else None


def _longest(needed: Callable[[int], float], beta: float | None, most: int) -> int | None:
    """The longest length, up to ``most``, that needs less than beta; the need grows with length, so halve."""
    if beta is None:
        return None
    check_beta(beta)
    low, high = 1, 2
    while high <= most and needed(high) < beta:
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle) < beta else (low, middle)
    return low


@dataclass(frozen=True, eq=False)
class MarginMap:
    """The smallest discrepancy of both heads over angles and lengths; 0 or less where the head cannot serve."""

    thetas: Float[np.ndarray, "theta"]
    lengths: Int[np.ndarray, "n"]
    index: Float[np.ndarray, "theta n"]
    retrieval: Float[np.ndarray, "theta n"]
    letters: int


def margin_map(thetas: Float[np.ndarray, "theta"], lengths: Int[np.ndarray, "n"], letters: int = 8) -> MarginMap:
    """Both margins for each angle and length.

    Args:
        thetas: angles. Those at which Index aliases are not refused: their margin is 0, as the map should show.
        lengths: each at least 3.
        letters: size of the alphabet.
    """
    if lengths.min() < 3:
        raise WhatwhereError(f"a map of lengths from 3 was expected, and {lengths.min()} was asked for.")
    check_letters(letters)
    omega = math.tau / letters
    angle = thetas[:, None]
    nearest = np.stack([np.minimum.accumulate(gaps(float(theta), int(lengths.max()) - 1)) for theta in thetas])
    # retrieval_smallest_formula for all at once; past its range a wrong token wins, which the map shows as no margin
    turn = np.minimum(omega, (2 * lengths - 3) * angle)
    retrieval = 2 * np.sin(np.maximum(0, omega - angle) / 2) * np.sin((omega - turn) / 2)
    return MarginMap(thetas, lengths, nearest[:, lengths - 2], retrieval, letters)
