from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import GAMMAS, KINDS, SLACK, Purity, label_of, pure_over, purity, step_of_maximal_accuracy

STEPS = np.array([0, 10, 20, 30])


def four_heads() -> Purity:
    """Layer 0 becomes positional early, falls out once and returns; layer 1 becomes symbolic; 2 never; 3 loses it."""
    positional = np.array([[1.0, 1, 1, 1.0], [0.95, 0.5, 0.6, 0.05], [0.8, 0.1, math.nan, 0.05], [0.9, 0.0, 0.5, 0.2]])
    symbolic = np.array([[1.0, 1, 1, 1.0], [0.05, 0.9, 0.6, 0.95], [0.3, 0.9, 0.4, 0.97], [0.1, 1.0, 0.6, 0.95]])
    return purity(STEPS, positional[..., None], symbolic[..., None], 0.1)


def test_pure_at_the_edge_of_the_tolerance_and_not_beyond() -> None:
    found = four_heads()
    assert found.positional[:, 0, 0].tolist() == [False, True, False, True]
    assert found.symbolic[:, 1, 0].tolist() == [False, False, True, True]


def test_first_hit_and_for_good_differ_when_a_head_falls_out() -> None:
    found = four_heads()
    np.testing.assert_array_equal(found.first("positional")[:, 0], [10, math.nan, math.nan, math.nan])
    np.testing.assert_array_equal(found.for_good("positional")[:, 0], [30, math.nan, math.nan, math.nan])
    np.testing.assert_array_equal(found.first("symbolic")[:, 0], [math.nan, 20, math.nan, 10])
    np.testing.assert_array_equal(found.for_good("symbolic")[:, 0], [math.nan, 20, math.nan, math.nan])


def test_the_staircase_has_who_joined_and_when() -> None:
    found = four_heads()
    assert found.joined("positional") == [(30, 0, 0)]
    assert found.joined("symbolic") == [(20, 1, 0)]


def test_a_run_without_checkpoints_has_no_pure_heads() -> None:
    empty = purity(np.array([], int), np.empty((0, 2, 1)), np.empty((0, 2, 1)))
    assert np.isnan(empty.for_good("symbolic")).all()
    assert empty.joined("symbolic") == []


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_a_tighter_tolerance_is_met_later_and_no_head_is_pure_of_both_kinds(scores: list[tuple[float, float]]) -> None:
    steps = np.arange(len(scores))
    positional, symbolic = np.array(scores).T[:, :, None, None]
    loose, tight = (purity(steps, positional, symbolic, gamma) for gamma in (0.1, 0.05))
    assert not (loose.positional & loose.symbolic).any()
    for kind in KINDS:
        late, early = tight.for_good(kind), loose.for_good(kind)
        assert (np.isnan(late) | (late >= early)).all()
        assert len(loose.joined(kind)) == loose.pure(kind)[-1].sum()


@pytest.mark.parametrize("gamma", [0.0, 0.5, -1.0, math.nan])
def test_gamma_must_lie_below_one_half(gamma: float) -> None:
    with pytest.raises(WhatwhereError, match=r"expected a gamma between 0 and 0\.5, got"):
        purity(STEPS, np.ones((4, 1, 1)), np.ones((4, 1, 1)), gamma)


def test_the_moment_of_maximal_accuracy_is_the_first_within_the_slack() -> None:
    rows = [{"step": float(s), "accuracy": a} for s, a in [(0, math.nan), (1, 0.5), (2, 0.994), (3, 0.996), (4, 0.999)]]
    assert step_of_maximal_accuracy(rows) == 2
    assert step_of_maximal_accuracy(rows, slack=0.0) == 4
    assert math.isnan(step_of_maximal_accuracy(rows[:1]))


@pytest.mark.parametrize(
    ("positional", "symbolic", "label"),
    [
        (0.95, 0.05, "positional"),
        (0.05, 0.95, "symbolic"),
        (1.0, 1.0, "uniform"),
        (0.95, 0.3, "mixed"),
        (0.6, 0.6, "mixed"),
        (math.nan, math.nan, "undefined"),
        (math.nan, 0.5, "undefined"),
        (0.5, math.nan, "undefined"),
    ],
)
def test_labels_name_pairs_of_scores(positional: float, symbolic: float, label: str) -> None:
    assert label_of(positional, symbolic) == label


def test_a_band_is_pure_where_every_temperature_is() -> None:
    loose, strict = (purity(STEPS, np.full((4, 1, 2), 0.95), symbolic) for symbolic in
                     (np.full((4, 1, 2), 0.05), np.tile([0.05, 0.3], (4, 1, 1))))  # fmt: skip
    both = pure_over([loose, strict])
    assert both.positional.all(0).tolist() == [[True, False]]
    assert not both.symbolic.any()
    assert both.gamma == loose.gamma


def test_a_band_of_one_temperature_is_the_purity_at_it() -> None:
    alone = four_heads()
    both = pure_over([alone])
    for kind in KINDS:
        np.testing.assert_array_equal(both.pure(kind), alone.pure(kind))
    assert (both.gamma, both.steps.tolist()) == (0.1, STEPS.tolist())


def test_a_band_of_different_checkpoints_or_tolerances_is_refused() -> None:
    one, other = (purity(STEPS, np.ones((4, 1, 1)), np.ones((4, 1, 1)), gamma) for gamma in (0.1, 0.05))
    for band in ([], [one, other]):
        with pytest.raises(WhatwhereError, match="expected the purity of the same checkpoints at one gamma"):
            pure_over(band)


def test_the_tolerances_are_those_of_the_appendix_and_the_larger_is_the_default() -> None:
    assert (GAMMAS, SLACK) == ((0.1, 0.05), 0.005)
    one = np.full((4, 1, 1), 0.92), np.full((4, 1, 1), 0.08)
    assert purity(STEPS, *one).positional.all() and purity(STEPS, *one).gamma == 0.1
    assert label_of(0.92, 0.08) == "positional"


@pytest.mark.parametrize(
    ("positional", "symbolic", "label"),
    [
        (0.75, 0.25, "positional"), (0.25, 0.75, "symbolic"), (0.75, 0.75, "uniform"), (0.75, 0.26, "mixed"),
        (0.26, 0.75, "mixed"), (0.74, 0.25, "mixed"), (0.25, 0.74, "mixed"), (0.74, 0.75, "mixed"),
    ],
)  # fmt: skip
def test_scores_at_the_tolerance_itself_are_pure(positional: float, symbolic: float, label: str) -> None:
    assert label_of(positional, symbolic, 0.25) == label
    found = purity(STEPS, np.full((4, 1, 1), positional), np.full((4, 1, 1), symbolic), 0.25)
    assert (bool(found.positional.all()), bool(found.symbolic.all())) == (label == "positional", label == "symbolic")


def test_purities_are_told_apart_by_what_they_are() -> None:
    assert four_heads() != four_heads()


def test_an_accuracy_just_within_the_slack_is_maximal() -> None:
    rows = [{"step": 1.0, "accuracy": 0.5}, {"step": 2.0, "accuracy": 0.75}]
    assert step_of_maximal_accuracy(rows, slack=0.25) == 1
    assert step_of_maximal_accuracy(rows, slack=0.125) == 2
    assert math.isnan(step_of_maximal_accuracy([]))


def test_a_band_of_other_checkpoints_is_refused() -> None:
    one, other = (purity(steps, np.ones((4, 1, 1)), np.ones((4, 1, 1))) for steps in (STEPS, STEPS + 1))
    with pytest.raises(WhatwhereError, match="got 2 that differ"):
        pure_over([one, other])
