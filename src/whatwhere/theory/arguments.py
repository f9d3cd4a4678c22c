"""Checks of the arguments of the theorems."""

from __future__ import annotations

import math

from whatwhere.errors import WhatwhereError

LONGEST = 100_000
"""Tokens of the longest input; "any length" is tested up to here."""
MOST_LETTERS = 10_000
MOST_TOKENS = 4_096
"""Entries of the largest vocabulary for which a head is built: its weights are dense matrices of that size."""
ALIAS_TOLERANCE = 1e-9
"""Radians from a full turn at which two distances count as equal: their cosines differ by 5e-19, below float64."""


def check_length(n: int) -> None:
    """Raises an error for inputs of fewer than two tokens, or of too many."""
    if not 2 <= n <= LONGEST:
        raise WhatwhereError(f"expected a length from 2 to {LONGEST:,} tokens, got {n:,}.")


def check_letters(letters: int) -> None:
    """Raises an error for an alphabet of fewer than two letters, or of too many."""
    if not 2 <= letters <= MOST_LETTERS:
        raise WhatwhereError(f"expected an alphabet of 2 to {MOST_LETTERS:,} letters, got {letters:,}.")


def check_integers(integers: int) -> None:
    """Raises an error for a vocabulary without integers, or with more than any input can use."""
    if not 1 <= integers <= LONGEST:
        raise WhatwhereError(f"expected 1 to {LONGEST:,} integers, got {integers:,}.")


def check_vocabulary(size: int) -> None:
    """Raises an error for a head over too many tokens."""
    if size > MOST_TOKENS:
        raise WhatwhereError(
            f"expected a vocabulary of at most {MOST_TOKENS:,} tokens for a head that is built, got {size:,}; take "
            "fewer letters or integers (margins and temperatures need no head)."
        )


def check_beta(beta: float) -> None:
    """Raises an error for an inverse temperature that is not positive."""
    if not (beta > 0 and math.isfinite(beta)):
        raise WhatwhereError(
            f"expected an inverse temperature above 0, got {beta}: at 0 attention is uniform, below 0 the head looks "
            "away from what it seeks; take one above the least that the study theorems prints."
        )


def check_angle(theta: float) -> None:
    """Raises an error for an angle that is negative or not a number."""
    if not (theta >= 0 and math.isfinite(theta)):
        raise WhatwhereError(f"expected an angle of 0 or more radians per token, got {theta}.")


def repeats_at(theta: float, n: int) -> int | None:
    """The first distance below n that looks like distance 0: a whole number of turns. None if there is none."""
    import numpy as np

    turns = np.arange(1, n) * theta / math.tau  # by distance
    same = np.flatnonzero(np.abs(turns - turns.round()) * math.tau < ALIAS_TOLERANCE)
    return int(same[0]) + 1 if len(same) else None


def check_index_angle(theta: float, n: int) -> None:
    """Raises an error for an angle at which two of the first n distances look the same (erratum E8).

    The paper asks for an irrational angle. What matters is theta / 2 pi: were t theta a whole number of turns for some
    t < n, a key t places from the wanted one would get the same logit. 2 pi / 5 is irrational and fails at t = 5;
    the rational angle 1 never fails.
    """
    check_length(n)
    check_angle(theta)
    t = repeats_at(theta, n)
    if t is not None:
        raise WhatwhereError(
            f"expected an angle that is no rational multiple of 2 pi within the length, got {theta:.10g}: "
            f"{t} x theta is {round(t * theta / math.tau)} full turns, so a key {t} places from the wanted one looks "
            f"the same; take {f'inputs of at most {t} tokens, or ' * (t > 1)}another angle: 1, or any RoPE frequency, "
            "serves every length."
        )
