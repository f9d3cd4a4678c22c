"""Forecasts of margins and attention that follow a known law."""

from __future__ import annotations

from math import isnan, log2, nan

import pytest

from whatwhere.studies.prompt.forecasting import forecasts, nothing_predicted
from whatwhere.studies.prompt.tables import Answer

LENGTHS = (128, 192, 256, 384, 512)


def answers(margin: float, slope: float, *, spread: float = 0.0, mass: float = 0.6) -> list[Answer]:
    """The margin falls by a slope per doubling; attention competes with keys that are all equal."""
    rows = []
    for length in LENGTHS:
        for prompt in range(6):
            own = margin + slope * log2(length / 128) + spread * (prompt - 2.5)
            odds = mass / (1 - mass) * 128 / length
            rows.append(Answer(length, prompt, 3, own, own > 0, odds / (1 + odds)))
    return rows


def test_a_margin_that_falls_by_doublings_reaches_zero_where_it_must():
    margin, _ = forecasts(answers(6.0, -1.5), nan, 8192, checked=True, seed=0)
    assert margin.length.value == pytest.approx(128 * 2**4) and margin.slope == pytest.approx(-1.5)
    assert margin.length.interval == pytest.approx((2048, 2048))  # prompts that agree
    assert margin.off == pytest.approx(2)  # 2,048 was predicted, and 8,192 survived
    assert forecasts(answers(6.0, -1.5), 1024.0, 8192, checked=True, seed=0)[0].off == pytest.approx(1)


def test_prompts_that_differ_widen_the_interval():
    margin, _ = forecasts(answers(6.0, -1.5, spread=1.0), nan, 8192, checked=True, seed=0)
    assert margin.length.low < 1800 < 2300 < margin.length.high


def test_attention_predicts_where_equal_keys_leave_too_little():
    rows = [
        Answer(row.length, row.prompt, 3, 10 * row.attention - 1, True, row.attention)  # fails at 0.1
        for row in answers(0.0, 0.0)
    ]
    attention = forecasts(rows, nan, 512, checked=True, seed=0)[1]
    assert attention.length.value == pytest.approx(128 * 1.5 * 9, rel=1e-6)  # odds 1.5 at 128, 1/9 where it fails
    assert attention.slope == pytest.approx(-log2(2) * 0.6931, rel=1e-3)


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_a_margin_that_does_not_fall_predicts_no_failure(slope: float):
    margin, _ = forecasts(answers(6.0, slope), nan, 8192, checked=True, seed=0)
    assert isnan(margin.length.value) and margin.off == 0
    assert forecasts(answers(6.0, slope), 1024.0, 8192, checked=True, seed=0)[0].off == pytest.approx(10)


def test_what_was_not_checked_is_undefined():
    assert isnan(forecasts(answers(6.0, -1.0), nan, 512, checked=False, seed=0)[0].off)
    assert all(isnan(row.off) and isnan(row.length.value) for row in nothing_predicted())
