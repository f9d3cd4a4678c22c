from __future__ import annotations

import math

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads.intervals import bootstrap_interval, wilson_interval


def test_the_interval_is_that_of_a_normal_mean_for_many_inputs() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=(400, 2, 1))
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std(0) / math.sqrt(400)
    np.testing.assert_allclose(low, values.mean(0) - half, atol=0.02)
    np.testing.assert_allclose(high, values.mean(0) + half, atol=0.02)


def test_a_certain_value_has_an_interval_of_no_width() -> None:
    low, high = bootstrap_interval(np.full((10, 1), 0.25))
    assert low[0] == pytest.approx(0.25)
    assert high[0] == pytest.approx(0.25)


def test_more_confidence_widens_and_the_seed_fixes_the_interval() -> None:
    values = np.random.default_rng(0).random((50, 1))
    narrow, wide = (bootstrap_interval(values, confidence=c) for c in (0.5, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert bootstrap_interval(values, confidence=0.5) == narrow


def test_undefined_inputs_are_left_out() -> None:
    values = np.array([[1.0, math.nan], [1.0, math.nan], [math.nan, math.nan]])
    low, high = bootstrap_interval(values)
    assert (low[0], high[0]) == (1.0, 1.0)
    assert np.isnan([low[1], high[1]]).all()


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(WhatwhereError, match="confidence between 0 and 1"):
        bootstrap_interval(np.ones((3, 1)), confidence=1.0)
    with pytest.raises(WhatwhereError, match="at least one input"):
        bootstrap_interval(np.ones((0, 1)))


def test_wilson_gives_its_known_values_and_keeps_a_width_at_the_ends() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    low, high = wilson_interval(100, 100)
    assert (low, high) == (pytest.approx(100 / (100 + 1.959964**2), abs=1e-6), 1.0)
    assert wilson_interval(0, 100) == (0.0, pytest.approx(1 - low))
    assert np.isnan(wilson_interval(0, 0)).all()


def test_wilson_solves_its_defining_equation() -> None:
    # The ends are the shares p at which the observed one lies z standard errors away.
    for hits, inputs in ((1, 7), (30, 64), (999, 1000)):
        for end in wilson_interval(hits, inputs):
            error = math.sqrt(end * (1 - end) / inputs)
            assert abs(hits / inputs - end) / error == pytest.approx(1.959964, abs=1e-5)


def test_wilson_refuses_more_hits_than_inputs_and_impossible_confidence() -> None:
    with pytest.raises(WhatwhereError, match="from 0 to 3 hits"):
        wilson_interval(4, 3)
    with pytest.raises(WhatwhereError, match="between 0 and 1"):
        wilson_interval(1, 3, confidence=1.0)
