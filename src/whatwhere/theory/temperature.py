"""The smallest inverse temperature at which softmax does what hard attention does (the paper's lemma, made exact).

The lemma says that some beta serves all inputs up to a length. This module computes the least one. Let ``S(beta)`` be
the attention of all rivals together, relative to the wanted key's. The worst input is right exactly while S is below a
threshold, and S falls with beta, so the least beta is a root. The sufficient formulas are the lemma's own estimate,
``(n - 1) exp(-beta lambda) < 1``. At the least beta itself the worst input ties; use slightly more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.optimize import root_scalar

from whatwhere.theory.arguments import check_angle, check_index_angle, check_integers, check_length, check_letters
from whatwhere.theory.discrepancy import gaps, index_smallest, retrieval_smallest

Inputs = Literal["any", "proper"]
_Excess = Callable[[float], float]
"""The rivals' attention minus the threshold, a falling function of the inverse temperature."""


def index_minimum_beta(n: int, theta: float, integers: int | None = None) -> float:
    """The least beta for T_Index on every in-range input of at most n tokens.

    An integer query i with the wanted key i places back has rivals at i distances on one side and n - 1 - i on the
    other; it is right when S < 1. A letter query has n - 1 on one side; it is right when S < 3 (see the values in
    :func:`~whatwhere.theory.index_head.index_head`). Shorter inputs have fewer rivals, so length n decides.

    The angle is no rational multiple of 2 pi within the length; ``integers`` is the largest there is, n - 1 by default.
    """
    return _root(_index_excess(n, theta, integers), index_sufficient_beta(n, theta))


def index_serves(beta: float, n: int, theta: float, integers: int | None = None) -> bool:
    """Whether T_Index at this inverse temperature is right on every in-range input of at most n tokens."""
    return _index_excess(n, theta, integers)(beta) < 0


def _index_excess(n: int, theta: float, integers: int | None) -> _Excess:
    check_index_angle(theta, n)
    if integers is not None:
        check_integers(integers)
    gap = gaps(theta, n - 1)
    asked = np.arange(1, min(n - 1, integers or n - 1) + 1)

    def excess(beta: float) -> float:
        side = np.concatenate([[0.0], np.cumsum(np.exp(-beta * gap))])  # attention of the rivals up to each distance
        return max(float((side[asked] + side[n - 1 - asked]).max()) - 1, float(side[-1]) - 3)

    return excess


def index_minimum_beta_on_task_inputs(theta: float, target: int = 8, context: int = 9) -> float:
    """The least beta for one application of T_Index to raw task inputs: letters in the target window, then integers.

    Less than :func:`index_minimum_beta`, because integers are not copied: an integer query whose wanted key is an
    integer too is led astray by letters only. The outputs of earlier applications hold letters further on, so
    iterating needs the general value.
    """
    n = target + context
    check_index_angle(theta, n)
    gap = gaps(theta, n - 1)  # by distance from the wanted key, from 1
    # Letter queries never decide: an integer that asks for the first token has all their rivals, and a lower threshold.
    cases = []  # which keys compete
    for place in range(target + 1, n + 1):
        for i in range(1, place):
            keys = np.arange(1, place + 1)
            wanted = place - i
            rivals = keys[(keys != wanted) & ((keys <= target) | (wanted <= target))]
            cases.append(gap[np.abs(rivals - wanted) - 1])

    def excess(beta: float) -> float:
        return max(float(np.exp(-beta * case).sum()) - 1 for case in cases)

    return _root(excess, index_sufficient_beta(n, theta))


def index_sufficient_beta(n: int, theta: float) -> float:
    """ln(n - 1) / lambda(n): above it every in-range input of at most n tokens is right; the lemma's estimate."""
    return math.log(n - 1) / index_smallest(n, theta)


def retrieval_minimum_beta(n: int, theta: float, letters: int = 8, inputs: Inputs = "any") -> float:
    """The least beta for LL queries of T_Retrieval on inputs of at most n tokens.

    The worst input holds the match once, at j, and one rival token everywhere else; it is right when its rivals'
    attention is below the match's. Infinity where no beta serves because a rival's logit reaches the match's.

    Of the ``inputs``, ``any`` lets the rival be a copy of the query wherever the match stands. ``proper`` leaves out
    what a proper input cannot hold: a copy of the query before the match. It is a little smaller for short inputs and
    the same for long ones, where the worst match is the first token.
    """
    if retrieval_smallest(n, theta, letters) <= 0:
        return math.inf
    return _root(_pointing_excess(n, theta, letters, inputs), retrieval_sufficient_beta(n, theta, letters))


def retrieval_serves(beta: float, n: int, theta: float, letters: int = 8) -> bool:
    """Whether T_Retrieval at this inverse temperature is right on every left-unique input of at most n tokens."""
    if retrieval_smallest(n, theta, letters) <= 0:
        return False
    return _pointing_excess(n, theta, letters, "any")(beta) < 0 and _excess_of(_self_gaps(n, theta, letters))(beta) < 0


def _pointing_excess(n: int, theta: float, letters: int, inputs: Inputs) -> _Excess:
    """Asked where a margin is left: there rivals are the stronger the farther they stand."""
    away = np.arange(n - 1, -1, -1) * theta  # [n]: the first token's distance first
    match, rival = np.cos(away[:-1]), np.cos(math.tau / letters - away)
    strongest = np.r_[rival[1], np.full(n - 2, rival[0])]  # [n - 1]: by the place of the match, where no rival stands

    def excess(beta: float) -> float:
        rivals = np.exp(beta * (rival - rival[0]))  # relative to the strongest, so that nothing overflows
        others = rivals.sum() - rivals[:-1]
        others[0] = np.exp(beta * (rival[1:] - rival[1])).sum()
        if inputs == "proper":
            others[1:] -= rivals[-1]  # then the rivals are LI tokens, of which the query is no copy
        return float((others * np.exp(-beta * (match - strongest))).max()) - 1

    return excess


def retrieval_self_minimum_beta(n: int, theta: float, letters: int = 8) -> float:
    """The least beta for queries that seek themselves (LI tokens), on left-unique inputs of at most n tokens.

    The match is the query itself and every earlier token is the rival. Somewhat more than pointing queries need while
    inputs are short: the rivals stand where RoPE has turned them towards the match, none of them at distance 0.
    Infinity once (n - 1) theta reaches omega, where a rival has turned all the way (pointing queries fail long before).
    """
    return _least_beta(_self_gaps(n, theta, letters))


def _self_gaps(n: int, theta: float, letters: int) -> np.ndarray:
    """1 - cos of the angle between the query itself and a rival at each distance; 0 once a rival has turned to it."""
    check_length(n)
    check_angle(theta)
    check_letters(letters)
    return 1 - np.cos(np.maximum(0, math.tau / letters - np.arange(1, n) * theta))


def retrieval_sufficient_beta(n: int, theta: float, letters: int = 8) -> float:
    """ln(n - 1) / lambda(n); infinity where lambda is not above 0."""
    smallest = retrieval_smallest(n, theta, letters)
    return math.log(n - 1) / smallest if smallest > 0 else math.inf


def retrieval_tie_beta(n: int, theta: float) -> float:
    """The least beta for LI queries on proper inputs that are not left-unique (erratum E4).

    Every earlier token has the query's left letter and another integer; only RoPE tells them from the query, by
    1 - cos theta. Infinity at theta = 0, where they tie.
    """
    check_length(n)
    check_angle(theta)
    return _least_beta(gaps(theta, n - 1))


def _least_beta(gap: np.ndarray) -> float:
    """The least beta against rivals whose logits are below the wanted one by these gaps; infinity if one is not."""
    return _root(_excess_of(gap), math.log(len(gap)) / float(gap.min())) if gap.min() > 0 else math.inf


def _excess_of(gap: np.ndarray) -> _Excess:
    """Right while rivals with these gaps get less attention than the wanted key."""
    return lambda beta: float(np.exp(-beta * gap).sum()) - 1


def _root(excess: _Excess, enough: float) -> float:
    """The beta at which a falling function reaches 0, between 0 and a beta that is known to be enough."""
    if excess(0.0) <= 0:
        return 0.0
    if excess(enough) >= 0:  # the estimate is exact, and rounding decides the sign
        return enough
    return float(root_scalar(excess, bracket=(0.0, enough), xtol=1e-300, rtol=1e-14).root)
