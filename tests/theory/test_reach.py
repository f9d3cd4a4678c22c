import math

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import rope_frequencies
from whatwhere.tasks.functions import index, retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary
from whatwhere.theory.arguments import LONGEST
from whatwhere.theory.discrepancy import index_smallest, retrieval_smallest
from whatwhere.theory.index_head import index_head
from whatwhere.theory.reach import RESOLUTION, index_reach, margin_map, retrieval_reach
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import random_in_range, random_left_unique
from whatwhere.theory.temperature import index_minimum_beta, retrieval_minimum_beta, retrieval_self_minimum_beta


@pytest.mark.parametrize("theta", [0.8, 0.866, 1.0, 0.02])
def test_the_longest_index_input_is_the_last_with_a_margin(theta):
    longest = index_reach(theta, 17).longest
    assert index_smallest(longest, theta) > RESOLUTION
    assert index_smallest(longest + 1, theta) <= RESOLUTION


def test_index_at_one_radian_ends_where_710_looks_like_113_turns():
    assert index_reach(1.0, 17).longest == 710


@pytest.mark.parametrize(("theta", "longest"), [(0.0027, 146), (10000 ** (-82 / 128), 144), (0.0115, 35)])
def test_the_longest_retrieval_input_is_the_last_with_a_margin(theta, longest):
    assert retrieval_reach(theta, 17).longest == longest


def test_without_rotation_retrieval_has_no_longest_input_and_with_too_much_it_has_none():
    assert retrieval_reach(0.0, 17).longest == LONGEST
    reach = retrieval_reach(0.866, 17)
    assert reach.longest == 1
    assert math.isnan(reach.needed_beta)
    assert math.isnan(reach.sufficient_beta)


@pytest.mark.parametrize("beta", [5.0, 12.0, 40.0])
def test_the_longest_input_at_a_temperature_is_the_last_that_needs_less(beta):
    n = index_reach(0.866, 17, integers=16, beta=beta).longest_at_beta
    assert n is not None
    assert index_minimum_beta(n, 0.866, 16) < beta <= index_minimum_beta(n + 1, 0.866, 16)
    n = retrieval_reach(0.0027, 17, beta=beta).longest_at_beta
    assert n is not None
    needed = [max(retrieval_minimum_beta(m, 0.0027), retrieval_self_minimum_beta(m, 0.0027)) for m in (n, n + 1)]
    assert needed[0] < beta <= needed[1]


def test_more_temperature_never_reaches_past_the_longest_input():
    assert retrieval_reach(0.0115, 17, beta=1e9).longest_at_beta == 35


def test_the_heads_do_work_at_the_length_and_temperature_that_reach_names():
    n = index_reach(1.0, 17, integers=9, beta=30.0).longest_at_beta
    assert n is not None
    numbers = NumberVocabulary(10, 9)
    tokens = random_in_range(200, n, numbers, 0)
    head = index_head(1.0, 30.0, symbols=10, integers=9, length=n)
    assert not head.errors(tokens, index(tokens, numbers)).any()
    n = retrieval_reach(0.01, 17, letters=5, beta=30.0).longest_at_beta
    assert n is not None
    letters = LetterVocabulary(5, 3)
    tokens = random_left_unique(200, n, letters, 0)
    head = retrieval_head(0.01, 30.0, letters=5, integers=3)
    assert not head.errors(tokens, retrieval(tokens, letters)).any()


def test_the_map_holds_the_exact_margins_and_none_where_a_head_cannot_serve():
    thetas, lengths = np.array([0.0027, 0.0115, 0.3, 1.0, math.tau / 5]), np.array([3, 4, 17, 40, 200])
    index, retrieval = margin_map(thetas, lengths)
    for i, theta in enumerate(thetas[:4].tolist()):
        for j, n in enumerate(lengths.tolist()):
            assert index[i, j] == pytest.approx(index_smallest(n, theta), rel=1e-12)
            assert retrieval[i, j] == pytest.approx(max(0.0, retrieval_smallest(n, theta)), abs=1e-12)
    assert index[4, 2:].max() < 1e-30  # a fifth of a turn repeats after 5 tokens


def test_fast_frequencies_serve_index_and_slow_ones_retrieval():
    index, retrieval = margin_map(np.array([0.866, 0.0027]), np.array([17]))
    assert index[0, 0] > 1000 * index[1, 0]
    assert retrieval[1, 0] > 0.2
    assert retrieval[0, 0] == 0


def test_the_frequencies_that_the_documentation_names():
    frequencies = rope_frequencies(128, 10000.0).numpy()
    index, retrieval = margin_map(frequencies, np.array([17, 1000]))
    assert [i + 1 for i in range(64) if index[i, 0] > 1e-3] == [i for i in range(1, 23) if i != 7]
    assert [i + 1 for i in range(64) if retrieval[i, 0] > 0] == list(range(27, 65))
    assert [i + 1 for i in range(64) if retrieval[i, 1] > 0] == list(range(56, 65))
    assert index[:, 1].max() < 2e-5


@pytest.mark.parametrize(("theta", "longest"), [(0.0, 1), (math.tau / 5, 5)])
def test_an_angle_at_which_distances_repeat_leaves_index_no_margin(theta, longest):
    reach = index_reach(theta, 17, beta=50.0)
    assert (reach.margin, reach.longest) == (0, longest)
    assert math.isnan(reach.needed_beta)
    assert math.isnan(reach.sufficient_beta)
    assert reach.longest_at_beta is not None
    assert reach.longest_at_beta <= longest


def test_the_largest_questions_are_answered_at_once():
    assert index_reach(1e-3, 100_000, integers=100_000, beta=1e12).longest_at_beta is not None
    assert retrieval_reach(0.0, 100_000, letters=10_000, beta=1e9).longest_at_beta == 100_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: index_reach(1.0, 1), "length from 2 to"),
        (lambda: index_reach(1.0, 17, beta=0.0), "inverse temperature above 0"),
        (lambda: retrieval_reach(0.1, 17, letters=1), "alphabet of 2 to"),
        (lambda: retrieval_reach(-0.1, 17), "angle of 0 or more"),
        (lambda: retrieval_reach(0.1, 1), "length from 2 to"),
        (lambda: margin_map(np.array([0.1]), np.array([2])), "lengths from 3"),
        (lambda: margin_map(np.array([0.1]), np.array([5]), 1), "alphabet of 2 to"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(WhatwhereError, match=message):
        call()


def test_a_reach_says_all_there_is_to_say():
    found = index_reach(1.0, 17, integers=16, beta=30.0)
    assert (found.head, found.frequency_id, found.theta, found.length) == ("index", None, 1.0, 17)
    assert (found.longest, found.longest_at_beta) == (710, 20)
    numbers = found.margin, found.needed_beta, found.sufficient_beta
    assert numbers == pytest.approx((1 - math.cos(6), 18.01873816, math.log(16) / (1 - math.cos(6))))
    assert index_reach(1.0, 17).longest_at_beta is None
    found = retrieval_reach(0.0115, 17, beta=30.0)
    assert (found.head, found.frequency_id, found.theta, found.length) == ("retrieval", None, 0.0115, 17)
    assert (found.longest, found.longest_at_beta) == (35, 28)
    assert (found.margin, found.needed_beta) == pytest.approx((0.1606133855, 13.11498486))
    assert found.sufficient_beta == pytest.approx(math.log(16) / found.margin)
    assert retrieval_reach(0.0115, 17) == retrieval_reach(0.0115, 17, letters=8)


def test_a_margin_counts_from_half_a_unit_in_the_last_place_of_float32():
    assert np.finfo(np.float32).epsneg == RESOLUTION


def test_a_temperature_that_serves_nothing_reaches_one_token():
    assert index_reach(1.0, 17, beta=1e-9).longest_at_beta == 2, "two tokens need no temperature"
    assert retrieval_reach(0.866, 17, beta=1e9).longest_at_beta == 1


def test_the_map_is_that_of_eight_letters_unless_asked_otherwise():
    thetas, lengths = np.array([0.01, 0.0]), np.array([3, 9])
    for one, other in zip(margin_map(thetas, lengths), margin_map(thetas, lengths, 8), strict=True):
        np.testing.assert_array_equal(one, other)
    _, few = margin_map(thetas, lengths, 3)
    assert few[1] == pytest.approx([1 - math.cos(math.tau / 3)] * 2)
    assert few[0, 1] == pytest.approx(retrieval_smallest(9, 0.01, 3))
