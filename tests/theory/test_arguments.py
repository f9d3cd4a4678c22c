import math

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.theory.arguments import (
    check_angle,
    check_beta,
    check_index_angle,
    check_integers,
    check_length,
    check_letters,
    check_vocabulary,
    repeats_at,
)


@pytest.mark.parametrize("n", [1, 0, -3, 100_001, 10**8])
def test_a_length_below_two_or_an_absurd_one_is_refused(n: int):
    with pytest.raises(WhatwhereError, match=f"expected a length from 2 to 100,000 tokens, got {n:,}"):
        check_length(n)


@pytest.mark.parametrize("letters", [1, 0, 10**9])
def test_an_alphabet_of_one_letter_or_an_absurd_one_is_refused(letters: int):
    with pytest.raises(WhatwhereError, match=f"expected an alphabet of 2 to 10,000 letters, got {letters:,}"):
        check_letters(letters)


@pytest.mark.parametrize("integers", [0, 10**9])
def test_a_vocabulary_without_integers_or_with_absurdly_many_is_refused(integers: int):
    with pytest.raises(WhatwhereError, match=f"expected 1 to 100,000 integers, got {integers:,}"):
        check_integers(integers)


def test_a_head_over_too_many_tokens_is_refused():
    check_vocabulary(4_096)
    with pytest.raises(WhatwhereError, match="at most 4,096 tokens for a head that is built, got 4,097; take fewer"):
        check_vocabulary(4_097)


def test_the_smallest_and_largest_arguments_are_taken():
    check_length(2)
    check_length(100_000)
    check_letters(2)
    check_letters(10_000)
    check_integers(1)
    check_integers(100_000)
    check_beta(1e-9)
    check_angle(0.0)


@pytest.mark.parametrize("beta", [0.0, -1.0, math.nan, math.inf])
def test_an_inverse_temperature_that_is_not_positive_is_refused(beta: float):
    with pytest.raises(WhatwhereError, match="expected an inverse temperature above 0, got"):
        check_beta(beta)


@pytest.mark.parametrize("theta", [-0.1, math.nan, math.inf])
def test_an_angle_that_is_negative_or_no_number_is_refused(theta: float):
    with pytest.raises(WhatwhereError, match="expected an angle of 0 or more radians"):
        check_angle(theta)


@pytest.mark.parametrize(("turns", "denominator"), [(1, 5), (2, 5), (1, 3), (3, 7), (1, 16)])
def test_a_rational_multiple_of_a_turn_is_refused_from_its_denominator_on(turns: int, denominator: int):
    theta = turns * math.tau / denominator
    check_index_angle(theta, max(denominator, 2))  # distances reach denominator - 1 only
    with pytest.raises(
        WhatwhereError, match=rf"{denominator} x theta is {turns} full turns.*at most {denominator} tok"
    ):
        check_index_angle(theta, denominator + 1)


def test_no_rotation_is_refused_for_index():
    with pytest.raises(WhatwhereError, match=r"0 full turns.*take another angle: 1"):
        check_index_angle(0.0, 17)


def test_rational_angles_and_rope_frequencies_serve_every_length():
    for theta in (1.0, 0.5, 0.8, 0.866, 3.0, *(10000 ** (-2 * k / 128) for k in range(64))):
        check_index_angle(theta, 1000)


@pytest.mark.parametrize(("off", "same"), [(0.5e-9, True), (-0.5e-9, True), (2e-9, False), (-2e-9, False)])
def test_distances_within_a_billionth_of_a_radian_of_a_turn_look_the_same(off: float, same: bool):
    theta = (math.tau + off) / 5
    assert repeats_at(theta, 6) == (5 if same else None)
    assert repeats_at(theta, 5) is None


def test_an_angle_that_repeats_at_once_serves_no_length():
    with pytest.raises(WhatwhereError, match=r"1 x theta is 1 full turns, .* looks the same; take another angle"):
        check_index_angle(math.tau, 2)
    with pytest.raises(
        WhatwhereError, match=r"2 x theta is 1 full turns, .* take inputs of at most 2 tokens, or another"
    ):
        check_index_angle(math.pi, 3)
