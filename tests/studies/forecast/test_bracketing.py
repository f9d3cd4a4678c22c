from __future__ import annotations

from itertools import pairwise

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.forecast.bracketing import bracketed, length_grid


def test_lengths_are_evenly_spaced_in_the_logarithm_and_end_at_the_longest() -> None:
    grid = length_grid(17, 1000)
    assert (grid[0], grid[4], grid[8], grid[-1]) == (17, 34, 68, 1000)
    assert all(1 < after / before < 1.25 for before, after in pairwise(grid))
    assert length_grid(17, 18) == [17, 18]


@pytest.mark.parametrize("at", [17.5, 40, 65, 333, 999.5, 5000])
def test_the_break_is_bracketed_by_neighbours_with_few_questions(at: float) -> None:
    grid, asked = length_grid(17, 1000), []

    def curve(length: int) -> Estimate:
        asked.append(length)
        value = 1.0 if length < at else 0.7 if length < 1.5 * at else 0.1
        return Estimate(value, value, value, 10)

    found = bracketed(curve, grid, (0.9, 0.5))
    assert len(asked) == len(set(asked)) <= 12
    assert set(found) == set(asked)
    for limit, threshold in ((at, 0.9), (1.5 * at, 0.5)):
        below = [length for length in grid if length >= limit]
        if below:
            first = grid.index(below[0])
            assert {grid[first - 1], grid[first]} <= set(asked), threshold
        else:
            assert 1000 in asked


def test_a_curve_that_starts_below_is_asked_at_its_start_alone() -> None:
    found = bracketed(lambda _: Estimate(0.1, 0, 0.2, 10), [17, 20, 24], (0.5,))
    assert list(found) == [17]
