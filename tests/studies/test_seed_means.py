"""Means over seeds: Student's interval, and what few or equal seeds do not show."""

import math

import pytest

from whatwhere.studies.seed_means import estimate_text, excludes_zero, over_seeds


def test_the_interval_over_three_seeds_is_the_t_interval_of_the_tables():
    found = over_seeds([1.0, 2.0, 4.0])
    spread = math.sqrt(((1 - 7 / 3) ** 2 + (2 - 7 / 3) ** 2 + (4 - 7 / 3) ** 2) / 2)
    half = 4.302653 * spread / math.sqrt(3)  # t of 0.975 with 2 degrees of freedom, as printed in tables
    assert found.value == pytest.approx(7 / 3)
    assert found.low == pytest.approx(7 / 3 - half, rel=1e-6)
    assert found.high == pytest.approx(7 / 3 + half, rel=1e-6)
    assert found.n == 3


def test_fewer_than_two_seeds_have_no_interval_and_undefined_ones_do_not_count():
    alone = over_seeds([math.nan, 0.5])
    assert (alone.value, alone.n) == (0.5, 1)
    assert math.isnan(alone.low) and math.isnan(alone.high)
    none = over_seeds([math.nan])
    assert math.isnan(none.value) and none.n == 0


def test_the_interval_of_a_share_ends_where_shares_end():
    found = over_seeds([0.0, 1.0, 1.0], 0.0, 1.0)
    assert found.interval == (0.0, 1.0)


@pytest.mark.parametrize("values", [[0.75, 0.75], [1 / 3, 1 - 2 / 3, 1 / 3], [4.0, 4.0, 4.0, 4.0]])
def test_seeds_that_agree_show_no_spread_and_so_no_interval(values: list[float]):
    found = over_seeds(values)
    assert (found.value, found.n) == (pytest.approx(values[0]), len(values))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert not excludes_zero(found)
    assert estimate_text(found) == f"{values[0]:.3g} (the same with each of {len(values)} seeds, no interval)"


def test_an_interval_excludes_zero_on_either_side():
    assert excludes_zero(over_seeds([1.0, 1.1, 1.2])) and excludes_zero(over_seeds([-1.0, -1.1, -1.2]))
    assert not excludes_zero(over_seeds([-1.0, 0.0, 1.2]))
    assert estimate_text(over_seeds([1.0, 2.0, 4.0])) == "2.33 (-1.46 to 6.13, 3 seeds)"
    assert estimate_text(over_seeds([1.0])) == "1 (1 seed, no interval)"
    assert estimate_text(over_seeds([0.1, 0.2, -0.3 - 1e-16])).startswith("0 ("), "what rounding leaves is nothing"
