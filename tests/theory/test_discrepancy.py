import math

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.functions import retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary
from whatwhere.theory.discrepancy import (
    _narrowest_window,
    _rival_logits,
    gaps,
    index_discrepancy,
    index_largest,
    index_largest_bound,
    index_printed_bound,
    index_smallest,
    index_smallest_bound,
    measured_discrepancy,
    retrieval_largest,
    retrieval_largest_bound,
    retrieval_printed_bound,
    retrieval_self_smallest,
    retrieval_smallest,
    retrieval_smallest_bound,
    retrieval_smallest_formula,
)
from whatwhere.theory.index_head import index_head
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import all_sequences, is_proper

ANGLES = (0.8, 0.866, 1.0)
G2, G42 = 10000 ** (-2 / 128), 10000 ** (-82 / 128)
OMEGA = math.pi / 4
LENGTHS = range(2, 1001)
ROUNDING = 1e-12


def violations(lengths, theta, exact, bound):
    return [n for n in lengths if exact(n, theta) > bound(n, theta) + ROUNDING]


# --- T_Index


@pytest.mark.parametrize("theta", ANGLES)
def test_index_formulas_agree_with_logits_read_from_the_trace(theta):
    vocabulary = NumberVocabulary(40, 40)
    head = index_head(theta, 3.0, symbols=40, integers=40, length=41)
    for n in (2, 3, 7, 20, 40):
        queries = np.arange(n)  # 0 is a letter
        tokens = np.tile(np.arange(n), (n, 1))  # distinct letters, so that a key is known by its token
        tokens[1:, -1] = vocabulary.integer(queries[1:])
        wanted = tokens.copy()
        wanted[1:, -1] = tokens[0, n - 1 - queries[1:]]
        measured = measured_discrepancy(head, tokens, wanted)[:, -1]
        np.testing.assert_allclose(measured, [index_discrepancy(q, n, theta) for q in range(n)], atol=1e-12)
        assert measured.min() == pytest.approx(index_smallest(n, theta), abs=1e-12)
        assert measured.max() == pytest.approx(index_largest(n, theta), abs=1e-12)


@pytest.mark.parametrize("theta", [*ANGLES, G2])
def test_index_closed_forms_agree_with_brute_force_over_queries(theta):
    """By the definition: the logit cos 0 of the wanted distance minus the largest of the other distances."""
    for n in (*range(2, 40), 100):
        away = np.cos(theta * (np.arange(n) - np.arange(n)[:, None]))  # [query, distance]
        np.fill_diagonal(away, -np.inf)
        each = 1 - away.max(1)
        assert index_smallest(n, theta) == pytest.approx(each.min(), abs=1e-12)
        assert index_largest(n, theta) == pytest.approx(each.max(), abs=1e-12)
        assert index_largest(n, theta, integers=16) == pytest.approx(each[:17].max(), abs=1e-12)


@pytest.mark.parametrize(
    ("n", "bound", "smallest", "largest"),
    [
        (5, 0.3521, (0.3033, 0.3521, 0.4597), 0.3521),
        (10, 0.1974, (6.815e-3, 2.436e-2, 3.983e-2), 0.3521),
        (17, 0.0683, (6.815e-3, 2.436e-2, 3.983e-2), 2.436e-2),
        (32, 0.01928, (6.815e-3, 1.756e-4, 8.797e-3), 2.436e-2),
        (50, 0.00790, (4.908e-3, 1.756e-4, 1.567e-4), 2.042e-2),
        (100, 0.00197, (1.567e-4, 1.756e-4, 1.567e-4), 1.756e-4),
        (850, 2.73e-5, (6.098e-6, 6.880e-6, 1.817e-9), 6.880e-6),
    ],
)
def test_index_table(n, bound, smallest, largest):
    assert index_printed_bound(n, 0.866) == pytest.approx(bound, rel=3e-3)
    assert [index_smallest(n, theta) for theta in ANGLES] == pytest.approx(smallest, rel=3e-4)
    assert index_largest(n, 0.866) == pytest.approx(largest, rel=3e-4)


@pytest.mark.parametrize(
    ("theta", "records"),
    [(0.8, [1, 7, 8, 47, 55, 322, 377, 699]), (0.866, [1, 7, 22, 29, 312, 341]), (1.0, [1, 6, 19, 25, 44, 333, 710])],
)
def test_the_smallest_index_discrepancy_falls_in_steps(theta, records):
    gap = gaps(theta, 999)
    lower = [t for t in range(1, 1000) if t == 1 or gap[t - 1] < gap[: t - 1].min()]
    assert lower[: len(records)] == records
    for t in records[1:]:
        assert index_smallest(t + 1, theta) < index_smallest(t, theta)


@pytest.mark.parametrize("theta", [*ANGLES, G2])
def test_corrected_index_bounds_hold_at_every_length(theta):
    assert not violations(LENGTHS, theta, index_smallest, index_smallest_bound)
    assert not violations(LENGTHS, theta, index_largest, index_largest_bound)
    few = [n for n in LENGTHS if index_largest(n, theta, 16) > index_largest_bound(n, theta, 16) + ROUNDING]
    assert not few
    assert all(index_largest_bound(n, theta) <= 8 * math.pi**2 / (n + 1) ** 2 + ROUNDING for n in LENGTHS)


@pytest.mark.parametrize("n", [3, 8, 20])
def test_the_bound_of_the_largest_is_reached_while_the_window_is_less_than_half_a_turn(n):
    # then the next key is the nearest rival of every query
    assert index_largest_bound(n, 0.1) == pytest.approx(1 - math.cos(0.1), rel=1e-12)
    assert index_largest(n, 0.1) == pytest.approx(1 - math.cos(0.1), rel=1e-12)


@pytest.mark.parametrize(
    ("theta", "to_100", "to_1000", "first", "with_16"),
    [
        (0.8, 54, 578, range(9, 16), 25),
        (0.866, 35, 381, range(8, 14), 23),
        (1.0, 66, 665, range(7, 12), 31),
    ],
)
def test_the_printed_index_bound_fails_for_the_discrepancy_it_is_stated_for(theta, to_100, to_1000, first, with_16):
    broken = violations(LENGTHS, theta, index_largest, index_printed_bound)
    assert len(broken) == to_1000
    assert sum(n <= 100 for n in broken) == to_100
    assert broken[: len(first)] == list(first)
    assert first.stop not in broken
    few = [n for n in range(2, 101) if index_largest(n, theta, 16) > index_printed_bound(n, theta) + ROUNDING]
    assert len(few) == with_16
    ratio = max(index_largest(n, theta) / index_printed_bound(n, theta) for n in broken)
    assert ratio == pytest.approx({0.8: 3.3, 0.866: 3.5, 1.0: 3.5}[theta], abs=0.06)


def test_the_printed_index_bound_fails_on_the_example():
    assert index_discrepancy(4, 10, 0.866) == pytest.approx(0.352, abs=5e-4)
    assert index_printed_bound(10, 0.866) == pytest.approx(0.197, abs=5e-4)


@pytest.mark.parametrize(("theta", "best"), [(0.8, 0.82), (0.866, 0.87), (G2, 0.964), (1.0, 0.994)])
def test_the_smallest_index_bound_is_informative(theta, best):
    # past the plateau the bound 2 pi^2 / n^2 is nearly reached at some length, so its constant cannot be lowered much
    ratios = [index_smallest(n, theta) / index_smallest_bound(n, theta) for n in range(9, 1001)]
    assert max(ratios) == pytest.approx(best, abs=6e-3)
    assert index_smallest_bound(3, theta) == pytest.approx(
        index_smallest(3, theta)
    )  # and on the plateau it is the value itself


def test_distance_n_never_occurs_so_the_printed_pigeonhole_proves_too_little():
    # E9: the printed proof finds t <= n with t theta close to a turn, but keys are at most n - 1 apart. At n = 6 and
    # theta = 1 that t is 6 itself, which no input shows; the bound holds all the same.
    n, theta = 6, 1.0
    close = [t for t in range(1, n + 1) if abs(t * theta - round(t * theta / math.tau) * math.tau) <= math.tau / n]
    assert n in close
    assert index_smallest(n, theta) == pytest.approx(1 - math.cos(1.0))
    assert index_smallest(n + 1, theta) == pytest.approx(1 - math.cos(6.0))
    assert index_smallest(n, theta) <= index_smallest_bound(n, theta) + ROUNDING


@pytest.mark.parametrize(("theta", "crossover"), [(0.8, 8.07), (0.866, 7.49), (1.0, 6.55)])
def test_the_printed_index_bound_does_not_depend_on_the_angle_past_its_plateau(theta, crossover):
    assert math.sqrt(2 * math.pi**2 / (1 - math.cos(theta))) == pytest.approx(crossover, abs=5e-3)
    assert all(index_printed_bound(n, theta) == 2 * math.pi**2 / n**2 for n in range(9, 101))


def test_the_caption_s_angle_changes_the_plateau_and_the_exact_value_but_not_the_tail():
    # E12: frequency ID 2 is 0.866 and ID 3 is 0.7499; none is 0.8
    assert pytest.approx(0.8660, abs=5e-5) == G2
    assert pytest.approx(0.7499, abs=5e-5) == 10000 ** (-4 / 128)
    assert index_printed_bound(5, 0.8) == pytest.approx(0.303, abs=5e-4)
    assert index_printed_bound(5, 0.866) == pytest.approx(0.352, abs=5e-4)
    assert index_printed_bound(17, 0.8) == index_printed_bound(17, 0.866)
    assert index_smallest(17, 0.866) / index_smallest(17, 0.8) == pytest.approx(3.6, abs=0.05)


# --- T_Retrieval


@pytest.mark.parametrize(("letters", "n", "theta"), [(3, 3, 0.2), (3, 4, 0.1), (4, 3, 0.3), (2, 4, 0.1), (3, 4, 0.6)])
def test_retrieval_formulas_agree_with_brute_force_over_all_inputs(letters, n, theta):
    vocabulary = LetterVocabulary(letters, 1)
    tokens = all_sequences(len(vocabulary), n)
    tokens = tokens[is_proper(tokens, vocabulary)]
    points = vocabulary.points(tokens[:, -1]) & (vocabulary.left(tokens[:, -1]) != vocabulary.right(tokens[:, -1]))
    tokens = tokens[points]
    wanted = retrieval(tokens, vocabulary)
    measured = measured_discrepancy(retrieval_head(theta, 2.0, letters=letters, integers=1), tokens, wanted)[:, -1]
    once = (tokens == wanted[:, -1:]).sum(1) == 1
    assert measured.min() == pytest.approx(retrieval_smallest(n, theta, letters), abs=1e-12)
    assert measured[once].max() == pytest.approx(retrieval_largest(n, theta, letters), abs=1e-12)


def test_retrieval_self_formula_agrees_with_brute_force():
    vocabulary = LetterVocabulary(4, 1)
    tokens = all_sequences(len(vocabulary), 3)
    left = vocabulary.left(tokens)
    distinct = np.array([len(set(row)) == 3 for row in left])
    tokens = tokens[distinct & ~vocabulary.points(tokens[:, -1])]
    measured = measured_discrepancy(retrieval_head(0.3, 1.0, letters=4, integers=1), tokens, tokens)[:, -1]
    assert measured.min() == pytest.approx(retrieval_self_smallest(3, 0.3, 4), abs=1e-12)


@pytest.mark.parametrize(("theta", "longest"), [(0.0027, 146), (G42, 144), (0.0115, 35)])
def test_the_closed_form_is_exact_while_a_margin_is_left_and_negative_after(theta, longest):
    for n in range(2, 1001):
        exact, formula = retrieval_smallest(n, theta), retrieval_smallest_formula(n, theta)
        if n <= longest:
            assert exact == pytest.approx(formula, abs=1e-12)
            assert exact > 0
        elif n * theta < OMEGA:
            assert exact <= formula + 1e-12
            assert exact < 0


@pytest.mark.parametrize(
    ("n", "theta", "printed", "smallest"),
    [
        (3, 0.0027, 0.28719, 0.28908),
        (17, 0.0027, 0.26119, 0.26220),
        (30, 0.0027, 0.23800, 0.23689),
        (50, 0.0027, 0.20416, 0.19741),
        (100, 0.0027, 0.12990, 0.09643),
        (145, 0.0027, 0.07658, 0.00400),
        (3, 0.0115, 0.26892, 0.27675),
        (17, 0.0115, 0.16900, 0.16061),
        (30, 0.0115, 0.09542, 0.04899),
    ],
)
def test_retrieval_table(n, theta, printed, smallest):
    assert retrieval_printed_bound(n, theta) == pytest.approx(printed, abs=6e-6)
    assert retrieval_smallest(n, theta) == pytest.approx(smallest, abs=6e-6)


def test_retrieval_table_where_the_construction_has_failed():
    assert retrieval_smallest(50, 0.0115) < 0
    assert retrieval_printed_bound(50, 0.0115) == pytest.approx(0.02205, abs=6e-6)
    assert retrieval_printed_bound(100, 0.0115) == pytest.approx(0.06573, abs=6e-6)  # rising again: vacuous
    assert retrieval_printed_bound(850, 0.0027) == pytest.approx(0.94, abs=5e-3)
    assert retrieval_smallest_bound(850, 0.0027) == 0


@pytest.mark.parametrize("theta", [0.0, 0.0027, G42, 0.0115])
def test_corrected_retrieval_bounds_hold_while_there_is_an_angle_left(theta):
    lengths = [n for n in LENGTHS if (n - 1) * theta <= OMEGA][:400]
    assert not violations(lengths, theta, retrieval_smallest, retrieval_smallest_bound)
    assert not violations(lengths, theta, retrieval_largest, retrieval_largest_bound)
    for n in lengths:
        assert retrieval_self_smallest(n, theta) == pytest.approx(1 - math.cos(OMEGA - (n - 1) * theta), abs=1e-12)


@pytest.mark.parametrize(("theta", "last"), [(0.0027, 24), (G42, 23), (0.0115, 12)])
def test_the_printed_retrieval_bound_fails_at_short_lengths_and_holds_after(theta, last):
    lengths = [n for n in range(3, 1001) if (2 * n - 3) * theta <= OMEGA]
    broken = violations(lengths, theta, retrieval_smallest, retrieval_printed_bound)
    assert broken == list(range(3, last + 1))
    excess = max(retrieval_smallest(n, theta) - retrieval_printed_bound(n, theta) for n in broken)
    assert excess < (0.008 if theta == 0.0115 else 0.002)


def test_the_printed_retrieval_bound_fails_for_the_largest_at_every_length_and_for_self_queries():
    lengths = [n for n in LENGTHS if n * 0.0027 <= OMEGA]
    assert violations(lengths, 0.0027, retrieval_largest, retrieval_printed_bound) == list(lengths)
    assert violations(lengths, 0.0027, retrieval_self_smallest, retrieval_printed_bound) == list(lengths)
    assert retrieval_largest(3, 0.0027) == pytest.approx(1.99998, abs=5e-6)
    assert retrieval_largest(100, 0.0027) == pytest.approx(1.9645, abs=5e-5)


def test_the_corrected_retrieval_bound_informs_at_short_lengths_and_not_near_the_end():
    assert retrieval_smallest(17, 0.0027) / retrieval_smallest_bound(17, 0.0027) > 0.99
    assert retrieval_smallest(100, 0.0027) / retrieval_smallest_bound(100, 0.0027) < 0.75
    assert retrieval_smallest(146, 0.0027) < 0.03 * retrieval_smallest_bound(146, 0.0027)


@pytest.mark.parametrize("n_0", [5, 17, 100])
def test_theorem_2_speaks_of_any_length_but_holds_to_n_0_only(n_0):
    theta = 0.999 * OMEGA / (2 * n_0)  # the theorem's condition
    assert all(retrieval_smallest(n, theta) > 0 for n in range(2, n_0 + 1))
    assert all(retrieval_smallest(n, theta) < 0 for n in range(n_0 + 3, 2 * n_0))
    assert retrieval_printed_bound(2 * n_0 - 2, theta) > 0  # where it promises a margin still


def test_without_rotation_the_margin_does_not_depend_on_length():
    for n in (2, 17, 850):
        assert retrieval_smallest(n, 0.0) == pytest.approx(1 - math.cos(OMEGA), abs=1e-15)


def test_undefined_discrepancies_are_nan():
    vocabulary = LetterVocabulary(3, 2)
    tokens = vocabulary.encode("a1 a1 a1")[None]
    gap = measured_discrepancy(retrieval_head(0.0, 1.0, letters=3, integers=2), tokens, tokens)
    assert np.isnan(gap).all()
    absent = np.full_like(tokens, vocabulary.encode("b1")[0])
    assert np.isnan(measured_discrepancy(retrieval_head(0.0, 1.0, letters=3, integers=2), tokens, absent)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: index_smallest(1, 1.0), "length from 2 to"),
        (lambda: index_smallest(17, 2 * math.pi / 5), "5 x theta"),
        (lambda: index_discrepancy(10, 10, 1.0), "expected a query from 0 to 9"),
        (lambda: index_largest(17, 1.0, 0), "expected 1 to"),
        (lambda: index_printed_bound(1, 1.0), "length from 2 to"),
        (lambda: index_largest_bound(1, 1.0), "length from 2 to"),
        (lambda: retrieval_smallest(1, 0.1), "length from 2 to"),
        (lambda: retrieval_largest(5, 0.1, 1), "alphabet of 2 to"),
        (lambda: retrieval_printed_bound(5, -0.1), "angle of 0 or more"),
        (lambda: retrieval_largest_bound(5, 0.1, 1), "alphabet of 2 to"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(WhatwhereError, match=message):
        call()


@pytest.mark.parametrize("n", [2, 3, 20])
def test_the_bound_of_the_largest_retrieval_discrepancy_is_reached_without_rotation(n):
    assert retrieval_largest(n, 0.0) == pytest.approx(2.0, abs=1e-12)  # cos 0 against the opposite point, -1
    assert retrieval_largest_bound(n, 0.0) == pytest.approx(2.0, abs=1e-12)
    assert retrieval_largest_bound(n, 0.0115) == pytest.approx(1.99993388, abs=1e-8)


@pytest.mark.parametrize("theta", [0.0, 0.0027, 0.05, 1.0])
@pytest.mark.parametrize("letters", [3, 8, 52])
def test_the_letter_nearest_to_a_direction_is_the_extreme_one_of_all_rivals(letters: int, theta: float):
    n = 25
    away = np.arange(n - 1, -1, -1)[:, None] * theta
    logits = np.cos(np.arange(1, letters) * math.tau / letters + away)  # [n, rival]
    np.testing.assert_allclose(_rival_logits(n, theta, letters, toward=0), logits.max(1), atol=1e-12)
    np.testing.assert_allclose(_rival_logits(n, theta, letters, toward=math.pi), logits.min(1), atol=1e-12)


@pytest.mark.parametrize("n", range(3, 12))
def test_the_narrowest_window_is_that_of_the_best_query_that_the_integers_allow(n: int):
    for integers in range(1, n + 3):
        allowed = [i for i in range(n - 1) if n - 1 - i <= integers]
        assert _narrowest_window(n, integers) == min(max(i, n - 1 - i) for i in allowed)


def test_the_ends_of_the_queries_are_taken_and_nothing_beyond():
    assert index_discrepancy(0, 10, 0.3) == index_discrepancy(9, 10, 0.3) == index_smallest(10, 0.3)
    for query in (-1, 10):
        with pytest.raises(
            WhatwhereError, match=rf"expected a query from 0 to 9 \(in range at length 10\), got {query}"
        ):
            index_discrepancy(query, 10, 0.3)


def test_by_default_the_alphabet_has_eight_letters():
    for one in (retrieval_smallest, retrieval_smallest_formula, retrieval_largest, retrieval_self_smallest,
                retrieval_printed_bound, retrieval_smallest_bound, retrieval_largest_bound):  # fmt: skip
        assert one(9, 0.01) == one(9, 0.01, 8)
    assert retrieval_smallest(9, 0.01) != retrieval_smallest(9, 0.01, 9)


def test_the_closed_forms_of_two_tokens():
    assert retrieval_smallest_formula(2, 0.1) == pytest.approx(math.cos(0.1) - math.cos(OMEGA))
    assert retrieval_smallest(2, 0.1) == pytest.approx(math.cos(0.1) - math.cos(OMEGA))
    assert retrieval_smallest_bound(2, 0.1) == pytest.approx(1 - math.cos(OMEGA))
    assert index_largest_bound(2, 0.1) == index_printed_bound(2, 0.1) == pytest.approx(1 - math.cos(0.1))


def test_a_negative_discrepancy_is_told_where_a_wrong_key_wins():
    vocabulary = LetterVocabulary(3, 2)
    tokens = vocabulary.encode("a1 b1 ca")[None]
    wanted = vocabulary.encode("b1 b1 b1")[None]
    found = measured_discrepancy(retrieval_head(0.0, 7.0, letters=3, integers=2), tokens, wanted)[0]
    assert np.isnan(found[0]) and found[2] == pytest.approx(math.cos(math.tau / 3) - 1)
