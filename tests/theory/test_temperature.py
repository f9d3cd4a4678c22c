import math
from itertools import product

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.functions import index
from whatwhere.tasks.vocabulary import NumberVocabulary
from whatwhere.theory.discrepancy import index_smallest
from whatwhere.theory.index_head import index_head
from whatwhere.theory.sequences import is_in_range
from whatwhere.theory.temperature import (
    index_minimum_beta,
    index_minimum_beta_on_task_inputs,
    index_serves,
    index_sufficient_beta,
    retrieval_minimum_beta,
    retrieval_self_minimum_beta,
    retrieval_serves,
    retrieval_sufficient_beta,
    retrieval_tie_beta,
)

G2 = 10000 ** (-2 / 128)


@pytest.mark.parametrize(
    ("theta", "n", "integers", "printed"),
    [
        (1.0, 5, None, "1.850"),
        (1.0, 10, None, "7.198"),
        (1.0, 17, None, "18.019"),
        (1.0, 25, None, "33.46"),
        (1.0, 50, 16, "366"),
        (1.0, 100, 16, "2057"),
        (0.866, 5, None, "2.361"),
        (0.866, 10, None, "9.747"),
        (0.866, 17, None, "28.71"),
        (G2, 17, None, "28.65"),
        (0.866, 25, None, "34.89"),
        (0.866, 50, 16, "201"),
        (0.866, 100, 16, "1977"),
        (0.8, 5, None, "2.715"),
        (0.8, 10, None, "13.276"),
        (0.8, 17, None, "101.71"),
        (0.8, 25, None, "109.4"),
        (0.8, 50, 16, "133"),
        (0.8, 100, 16, "601"),
    ],
)
def test_index_temperatures_agree_with_the_table_to_its_digits(theta, n, integers, printed):
    digits = len(printed.partition(".")[2])
    assert f"{index_minimum_beta(n, theta, integers):.{digits}f}" == printed


@pytest.mark.parametrize(("theta", "printed"), [(1.0, "18.02"), (0.866, "28.59"), (0.8, "47.4")])
def test_raw_task_inputs_need_no_more_than_the_general_temperature(theta, printed):
    digits = len(printed.partition(".")[2])
    raw = index_minimum_beta_on_task_inputs(theta)
    assert f"{raw:.{digits}f}" == printed
    assert raw <= index_minimum_beta(17, theta) + 1e-9


@pytest.mark.parametrize(
    ("theta", "printed"),
    [
        (0.0, {5: "4.733", 10: "7.502", 17: "9.466", 30: "11.50"}),
        (0.0027, {5: "4.804", 10: "7.749", 17: "10.022", 30: "12.84", 50: "16.5", 100: "31.8", 146: "475"}),
        (0.0115, {5: "5.050", 10: "8.697", 17: "13.115", 30: "34.33"}),
    ],
)
def test_retrieval_temperatures_agree_with_the_table_to_its_digits(theta, printed):
    for n, value in printed.items():
        digits = len(value.partition(".")[2])
        assert f"{retrieval_minimum_beta(n, theta):.{digits}f}" == value


def test_no_temperature_serves_where_a_rival_reaches_the_match():
    assert math.isfinite(retrieval_minimum_beta(35, 0.0115))
    assert retrieval_minimum_beta(36, 0.0115) == math.inf
    assert retrieval_sufficient_beta(36, 0.0115) == math.inf
    assert retrieval_self_minimum_beta(68, 0.0115) < math.inf
    assert retrieval_self_minimum_beta(70, 0.0115) == math.inf


@pytest.mark.parametrize("n", [5, 17, 30])
def test_a_head_serves_a_length_just_above_both_of_its_least_temperatures(n):
    least = max(retrieval_minimum_beta(n, 0.0027), retrieval_self_minimum_beta(n, 0.0027))
    assert retrieval_serves(1.0001 * least, n, 0.0027)
    assert not retrieval_serves(0.9999 * least, n, 0.0027)
    assert not retrieval_serves(1e9, 36, 0.0115)  # a rival's logit is above the match's


@pytest.mark.parametrize(("theta", "printed"), [(0.0027, 95_766), (0.0115, 5_279)])
def test_telling_apart_tokens_that_share_a_left_letter_needs_a_huge_temperature(theta, printed):
    assert round(retrieval_tie_beta(17, theta)) == printed
    assert retrieval_tie_beta(17, 0.0) == math.inf


def test_self_seeking_queries_decide_at_the_paper_s_length_and_pointing_ones_later():
    # the tabulated 10.022 serves pointing queries; an LI query of a worst input needs a little more
    assert retrieval_self_minimum_beta(17, 0.0027) == pytest.approx(10.0260, abs=1e-4)
    assert retrieval_minimum_beta(17, 0.0027) < retrieval_self_minimum_beta(17, 0.0027)
    assert retrieval_minimum_beta(30, 0.0027) > retrieval_self_minimum_beta(30, 0.0027)


@pytest.mark.parametrize("n", range(3, 60, 4))
def test_the_least_temperature_grows_with_length_and_stays_below_the_sufficient_one(n):
    for theta in (0.8, 0.866, 1.0):
        assert index_minimum_beta(n, theta) <= index_sufficient_beta(n, theta) * (1 + 1e-9)
        assert index_minimum_beta(n, theta) <= index_minimum_beta(n + 1, theta) + 1e-9
    assert retrieval_minimum_beta(n, 0.0027, inputs="proper") <= retrieval_minimum_beta(n, 0.0027) + 1e-9
    assert retrieval_minimum_beta(n, 0.0027) <= retrieval_sufficient_beta(n, 0.0027)
    assert retrieval_minimum_beta(n, 0.0027) < retrieval_minimum_beta(n + 1, 0.0027)


def test_without_rotation_the_lemma_s_estimate_is_exact():
    for n in (5, 17, 100):
        assert retrieval_minimum_beta(n, 0.0) == pytest.approx(retrieval_sufficient_beta(n, 0.0), rel=1e-9)


def test_more_integers_than_there_are_distances_change_nothing():
    for n in (3, 5, 17):
        assert index_minimum_beta(n, 0.1, integers=60) == index_minimum_beta(n, 0.1)
        assert index_minimum_beta(n, 0.1, integers=n - 1) == index_minimum_beta(n, 0.1)
        assert index_minimum_beta(n, 0.1, integers=1) <= index_minimum_beta(n, 0.1)


def test_two_tokens_need_no_temperature_at_all():
    assert index_minimum_beta(2, 1.0) == 0
    assert retrieval_minimum_beta(2, 0.0027) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: index_minimum_beta(1, 1.0), "length from 2 to"),
        (lambda: index_minimum_beta(17, 2 * math.pi / 5), "5 x theta"),
        (lambda: index_minimum_beta(17, 1.0, 0), "expected 1 to"),
        (lambda: index_minimum_beta_on_task_inputs(0.0), "0 full turns"),
        (lambda: retrieval_minimum_beta(1, 0.0), "length from 2 to"),
        (lambda: retrieval_minimum_beta(5, -1.0), "angle of 0 or more"),
        (lambda: retrieval_minimum_beta(5, 0.0, 1), "alphabet of 2 to"),
        (lambda: retrieval_self_minimum_beta(5, 0.0, 1), "alphabet of 2 to"),
        (lambda: retrieval_tie_beta(1, 0.1), "length from 2 to"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(WhatwhereError, match=message):
        call()


@pytest.mark.parametrize(("n", "theta"), [(4, 0.5), (9, 0.2), (33, 0.05)])
def test_at_the_sufficient_beta_all_other_keys_together_weigh_as_much_as_the_right_one(n: int, theta: float):
    beta = index_sufficient_beta(n, theta)
    assert (n - 1) * math.exp(-beta * index_smallest(n, theta)) == pytest.approx(1.0)


@pytest.mark.parametrize(("target", "context"), [(3, 2), (2, 3), (1, 3)])
@pytest.mark.parametrize("theta", [0.4, 1.0])
def test_the_least_temperature_of_raw_task_inputs_is_exact_over_all_of_them(target: int, context: int, theta: float):
    vocabulary = NumberVocabulary(2, target + context - 1)
    words = [list(range(2))] * target
    words += [[2 + value for value in range(place)] for place in range(target, target + context)]
    tokens = np.array(list(product(*words)))
    assert is_in_range(tokens, vocabulary).all()
    wanted = index(tokens, vocabulary)
    least = index_minimum_beta_on_task_inputs(theta, target, context)
    for factor, wrong in ((0.999, True), (1.001, False)):
        head = index_head(theta, factor * least, symbols=2, integers=target + context - 1, length=target + context)
        assert head.errors(tokens, wanted).any() == wrong


@pytest.mark.parametrize(("n", "integers"), [(5, None), (17, 16), (50, 16), (30, 3)])
def test_a_head_serves_a_length_just_above_its_least_temperature(n: int, integers: int | None):
    least = index_minimum_beta(n, 0.866, integers)
    assert index_serves(1.0001 * least, n, 0.866, integers)
    assert not index_serves(0.9999 * least, n, 0.866, integers)


@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("letters", [3, 8])
def test_the_least_temperatures_are_roots_of_what_the_worst_input_gets(n: int, letters: int):
    """Rivals of a query that seeks itself stand at every distance; without rotation those of a pointer, too."""
    theta = 0.02
    gap = [1 - math.cos(math.tau / letters - t * theta) for t in range(1, n)]
    beta = retrieval_self_minimum_beta(n, theta, letters)
    assert sum(math.exp(-beta * one) for one in gap) == pytest.approx(1)
    tie = retrieval_tie_beta(n, theta)
    assert sum(math.exp(-tie * (1 - math.cos(t * theta))) for t in range(1, n)) == pytest.approx(1)
    still = retrieval_minimum_beta(n, 0.0, letters)
    assert (n - 1) * math.exp(-still * (1 - math.cos(math.tau / letters))) == pytest.approx(1)


def test_by_default_the_alphabet_has_eight_letters_and_inputs_may_be_improper():
    assert retrieval_minimum_beta(9, 0.01) == retrieval_minimum_beta(9, 0.01, 8, "any")
    assert retrieval_minimum_beta(9, 0.01) > retrieval_minimum_beta(9, 0.01, inputs="proper")
    assert retrieval_self_minimum_beta(9, 0.01) == retrieval_self_minimum_beta(9, 0.01, 8)
    assert retrieval_sufficient_beta(9, 0.01) == retrieval_sufficient_beta(9, 0.01, 8)
    assert index_minimum_beta_on_task_inputs(1.0) == index_minimum_beta_on_task_inputs(1.0, 8, 9)
