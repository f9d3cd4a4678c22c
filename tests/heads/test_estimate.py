from __future__ import annotations

import math

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads import estimate
from whatwhere.heads.estimate import (
    Estimate,
    bootstrap_interval,
    bootstrap_means,
    clustered_shares,
    mean,
    percentiles,
    ratios,
    share,
)


def test_an_estimate_prints_its_value_its_interval_and_its_number() -> None:
    assert str(Estimate(0.95, 0.93, 0.97, 400)) == ".95 (.93-.97, n=400)"
    assert str(Estimate(1.0, 0.9, 1.0, 7)) == "1.00 (.90-1.00, n=7)"
    assert str(Estimate(-0.5, -10.25, 0.0, 7)) == "-.50 (-10.25-.00, n=7)"
    assert str(Estimate(math.nan, math.nan, math.nan, 0)) == "undefined (n=0)"


def test_a_share_has_wilsons_known_values_and_keeps_a_width_at_the_ends() -> None:
    assert share(8, 10).interval == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    low, high = share(100, 100).interval
    assert (low, high) == (pytest.approx(100 / (100 + 1.959964**2), abs=1e-6), 1.0)
    assert share(0, 100).interval == (0.0, pytest.approx(1 - low))
    assert share(30, 40).value == 0.75


def test_wilsons_ends_solve_their_defining_equation() -> None:
    # The ends are the shares p at which the observed one lies z standard errors away.
    for hits, n in ((1, 7), (30, 64), (999, 1000)):
        for end in share(hits, n).interval:
            error = math.sqrt(end * (1 - end) / n)
            assert abs(hits / n - end) / error == pytest.approx(1.959964, abs=1e-5)


def test_a_share_or_mean_of_nothing_is_undefined() -> None:
    for nothing in (share(0, 0), mean([]), mean([math.nan, math.nan], [0, 1])):
        assert np.isnan([nothing.value, *nothing.interval]).all()
        assert nothing.n == 0


def test_the_interval_of_a_mean_is_that_of_a_normal_mean_for_many_inputs() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=400)
    found, half = mean(values), 1.96 * values.std() / math.sqrt(400)
    assert found.value == pytest.approx(values.mean())
    assert found.interval == pytest.approx((values.mean() - half, values.mean() + half), abs=0.02)
    assert found.n == 400
    assert mean(values) == found != mean(values, seed=1)


def test_values_of_one_cluster_are_drawn_together() -> None:
    by_input = np.random.default_rng(0).normal(size=50)
    alone, repeated = mean(by_input), mean(by_input.repeat(8), np.arange(50).repeat(8))
    assert repeated.interval == pytest.approx(alone.interval)
    assert (alone.n, repeated.n) == (50, 400)
    low, high = mean(by_input.repeat(8)).interval
    assert high - low < 0.5 * (alone.high - alone.low)  # copies that count as new would deceive


def test_a_share_of_positions_has_the_interval_of_its_inputs() -> None:
    holds = np.random.default_rng(0).random((60, 2)) < 0.4
    inputs = np.arange(60)
    assert clustered_shares(holds, inputs) == [share(int(hits), 60) for hits in holds.sum(0)]
    repeated = clustered_shares(holds.repeat(5, 0), inputs.repeat(5))
    for column, one in enumerate(repeated):
        wanted = mean(holds[:, column])
        assert (one.value, one.interval, one.n) == (wanted.value, pytest.approx(wanted.interval), 300)
    all_or_none = clustered_shares(np.tile([True, False], (300, 1)), inputs.repeat(5))
    for agreed, hits in zip(all_or_none, (60, 0), strict=True):
        assert (agreed.interval, agreed.n) == (share(hits, 60).interval, 300)
    assert clustered_shares(np.ones((0, 1), bool), [])[0].n == 0


def test_a_ratio_of_totals_weighs_each_cluster_by_its_size() -> None:
    sizes = np.arange(1.0, 41.0)
    (half, nothing) = ratios(np.stack([sizes / 2, sizes], 1), np.stack([sizes, sizes], 1), [40, 0])
    assert (half.value, half.low, half.high, half.n) == (0.5, 0.5, 0.5, 40)
    assert math.isnan(nothing.value)


def test_undefined_values_are_left_out() -> None:
    assert mean([1.0, math.nan, 3.0], [0, 0, 1]).value == 2
    low, high = bootstrap_interval(np.array([[1.0, math.nan], [1.0, math.nan], [math.nan, math.nan]]))
    assert (low[0], high[0]) == (1.0, 1.0)
    assert np.isnan([low[1], high[1]]).all()


def test_all_heads_share_the_same_draws() -> None:
    values = np.random.default_rng(0).random((30, 1))
    drawn = bootstrap_means(np.concatenate([values, values + 1], 1), resamples=100)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 1)
    assert drawn.shape == (100, 2)


def test_draws_are_kept_for_the_next_interval_unless_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    values, known = np.arange(7.0)[:, None], estimate._times_drawn.cache_info
    estimate._times_drawn.cache_clear()
    first, again = (bootstrap_means(values, resamples=50) for _ in range(2))
    assert (known().misses, known().hits) == (1, 1)
    monkeypatch.setattr(estimate, "_KEPT", 7 * 50 - 1)
    large = bootstrap_means(values, resamples=50)
    assert (known().misses, known().hits) == (1, 1)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, large)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(WhatwhereError, match="expected 0 to 3 successes in 3 trials, got 4"):
        share(4, 3)
    with pytest.raises(WhatwhereError, match="expected one cluster per value, got 2 for 3"):
        mean([1.0, 2.0, 3.0], [0, 1])
    with pytest.raises(WhatwhereError, match="expected values of at least one input"):
        bootstrap_means(np.ones((0, 1)))


SQUARES = np.arange(10.0) ** 2


def test_the_draws_of_a_seed_stay_what_they_were() -> None:
    assert (mean(SQUARES).value, *mean(SQUARES).interval) == pytest.approx((28.5, 13.2, 45.4))
    assert mean(SQUARES, np.arange(10) // 2).interval == pytest.approx((6.9, 52.1))
    assert mean(SQUARES, seed=0) == mean(SQUARES)
    drawn = bootstrap_means(SQUARES[:, None])
    assert drawn.shape == (2000, 1)
    assert (drawn == bootstrap_means(SQUARES[:, None], resamples=2000, seed=0)).all()
    low, high = bootstrap_interval(SQUARES[:, None])
    assert (low[0], high[0]) == pytest.approx((13.2, 45.4))
    assert ratios(SQUARES[:, None], np.ones((10, 1)), [10]) == ratios(SQUARES[:, None], np.ones((10, 1)), [10], seed=0)


def test_a_draw_of_the_kept_size_is_kept_and_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 8 * estimate._KEPT == 32 * 2**20  # bytes, as documented
    known = estimate._times_drawn.cache_info
    estimate._times_drawn.cache_clear()
    monkeypatch.setattr(estimate, "_KEPT", 7 * 50)
    bootstrap_means(np.arange(7.0)[:, None], resamples=50)
    assert (known().misses, known().maxsize) == (1, 2)
    with pytest.raises(ValueError, match="read-only"):
        estimate._times_drawn(7, 50, 0)[0, 0] = 1


def test_a_single_observation_and_one_hit_among_several_inputs_have_their_intervals() -> None:
    (alone,) = clustered_shares(np.ones((1, 1), bool), [0])
    assert (alone.value, alone.interval, alone.n) == (1, share(1, 1).interval, 1)
    (one,) = clustered_shares(np.array([[True], [False], [False], [False]]), [0, 0, 1, 1])
    assert (one.value, one.interval, one.n) == (0.25, (0, 0.5), 4)


@pytest.mark.parametrize("successes", [-1, 4])
def test_fewer_than_no_successes_and_more_than_all_are_refused(successes: int) -> None:
    with pytest.raises(WhatwhereError, match=f"expected 0 to 3 successes in 3 trials, got {successes}"):
        share(successes, 3)


def test_percentiles_are_those_of_the_middle_95_percent() -> None:
    low, high = percentiles(np.stack([np.arange(1001.0), np.full(1001, np.nan)], 1))
    assert (low[0], high[0]) == pytest.approx((25, 975))
    assert np.isnan([low[1], high[1]]).all()
