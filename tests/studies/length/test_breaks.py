from __future__ import annotations

import math

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.length.breaks import break_interval, break_length, break_rows, finer_lengths
from whatwhere.studies.length.tables import Accuracy, Chain

CURVE = [(100, 0.2), (10, 1.0), (1000, 0.0)]


def test_breaks_are_interpolated_in_the_logarithm_of_length() -> None:
    assert break_length(CURVE, 0.6) == pytest.approx(10**1.5)
    assert break_length(CURVE, 0.1) == pytest.approx(10**2.5)
    assert break_length([(10, 0.3), (20, 0.9)], 0.5) == 10
    assert math.isnan(break_length([(10, 0.9), (20, 0.5)], 0.5))


def test_a_break_has_an_interval_and_counts_the_inputs_up_to_it(around) -> None:
    accuracy = [Accuracy("as trained", n, None, around(share, 0.1, n=2000 // n)) for n, share in CURVE]
    rows = {(row.what, row.threshold): row for row in break_rows(accuracy, [], [])}
    half = rows["accuracy", 0.5]
    assert half.length.low < half.length.value < half.length.high
    assert (half.longest, half.length.n, half.cell) == (1000, 200, (None, None, None, None))


def test_a_curve_that_stays_above_has_no_break(around) -> None:
    accuracy = [Accuracy("as trained", n, None, around(0.55, 0.1)) for n in (17, 65)]
    row = next(row for row in break_rows(accuracy, [], []) if row.threshold == 0.5)
    assert math.isnan(row.length.value)
    assert row.length.low == 17  # the lower end of the interval is below one half from the start
    assert math.isnan(row.length.high)


def test_the_interval_of_a_break_ends_at_lengths_that_were_measured() -> None:
    shares = {17: (0.9, 1.0), 33: (0.6, 0.8), 41: (0.4, 0.6), 49: (0.3, 0.4), 65: (0.0, 0.1)}
    points = [(length, Estimate(sum(ends) / 2, *ends, 100)) for length, ends in shares.items()]
    assert break_interval(points[::-1], 0.5) == (33, 49)
    assert break_interval(points[2:], 0.5) == (41, 49), "it starts below, for all that is known"
    low, high = break_interval(points[:3], 0.5)
    assert low == 33
    assert math.isnan(high)
    assert all(map(math.isnan, break_interval(points[:2], 0.5)))


def test_further_lengths_lie_where_half_begin_to_fail_or_are_predicted_to(around) -> None:
    def halves(measured: dict[int, float], predicted: dict[int, float], count: int) -> list[int]:
        rows = [Accuracy("as trained", n, None, around(share, 0.05)) for n, share in measured.items()]
        chain = [Chain("predicted", "mass", n, None, around(share, 0.05), 3) for n, share in predicted.items()]
        return finer_lengths(break_rows(rows, [], chain), list(measured), count)

    breaks = {17: 1.0, 33: 0.9, 41: 0.2, 57: 0.1}
    assert halves(breaks, {}, 7) == [34, 35, 36, 37, 38, 39, 40]
    assert halves(breaks, {}, 1) == [37]
    assert halves(breaks, {}, 100) == halves(breaks, {}, 7), "there are no more whole numbers"
    assert halves(breaks, {17: 1.0, 33: 1.0, 41: 0.9, 57: 0.3}, 3) == [35, 37, 39, 45, 49, 53]
    assert halves(breaks, {}, 0) == []
    assert halves({17: 1.0, 33: 0.9, 41: 0.5, 57: 0.1}, {}, 1) == [37, 49], "either gap may hold it"
    assert halves({17: 1.0, 33: 0.9}, {17: 1.0, 33: 0.2}, 7) == [], "nothing fails, so there is nothing to compare"
    assert halves({17: 0.2, 33: 0.1}, {}, 7) == [], "it fails from the start"
