"""What the theorems ask of their arguments; anything else is refused with the reason."""

from __future__ import annotations

import math

import numpy as np

from whatwhere.errors import WhatwhereError

ALIAS_TOLERANCE = 1e-9
"""Radians from a full turn at which two distances count as one: cosines differ by 5e-19 there, below float64."""


def check_length(n: int) -> None:
    """Refuses inputs shorter than two tokens: with one key there is nothing to tell apart."""
    if n < 2:
        raise WhatwhereError(
            f"a length of at least 2 was expected, and {n} arrived: with a single key every head attends to it."
        )


def check_letters(letters: int) -> None:
    """Refuses an alphabet of fewer than two letters."""
    if letters < 2:
        raise WhatwhereError(
            f"an alphabet of at least 2 letters was expected, and {letters} arrived: one letter points nowhere."
        )


def check_integers(integers: int) -> None:
    """Refuses a vocabulary without integers."""
    if integers < 1:
        raise WhatwhereError(f"at least 1 integer was expected, and {integers} arrived: nothing would be asked for.")


def check_beta(beta: float) -> None:
    """Refuses an inverse temperature that is not a positive number."""
    if not (beta > 0 and math.isfinite(beta)):
        raise WhatwhereError(
            f"an inverse temperature above 0 was expected, and {beta} arrived: at 0 attention is uniform, below 0 the "
            "head looks away from what it seeks. Take one above the minimum that whatwhere theory prints."
        )


def check_angle(theta: float) -> None:
    """Refuses an angle that is negative or not a number."""
    if not (theta >= 0 and math.isfinite(theta)):
        raise WhatwhereError(f"an angle of 0 or more radians per position was expected, and {theta} arrived.")


def check_index_angle(theta: float, n: int) -> None:
    """Refuses an angle at which two of the first n distances look the same (erratum E8).

    The paper asks for an irrational angle. What matters is theta / 2 pi: were t theta a whole number of turns for some
    t < n, a key t places from the wanted one would get the same logit. 2 pi / 5 is irrational and fails at t = 5;
    the rational angle 1 never fails.
    """
    check_length(n)
    check_angle(theta)
    turns = np.arange(1, n) * theta / math.tau  # by distance
    alike = np.flatnonzero(np.abs(turns - turns.round()) * math.tau < ALIAS_TOLERANCE)
    if len(alike):
        t = int(alike[0]) + 1
        raise WhatwhereError(
            f"an angle that is no rational multiple of 2 pi within the length was expected, and {theta:.10g} arrived: "
            f"{t} x theta is {round(turns[t - 1])} full turns, so a key {t} places from the wanted one looks the same. "
            + (f"Take inputs of at most {t} tokens, or another angle" if t > 1 else "Take another angle")
            + ": 1, or any RoPE frequency, serves every length."
        )
