"""Pure heads against accuracy, on the paper's made-up world."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dynamics_world import made_up

from whatwhere.studies.dynamics.association import heads_with_hops, lags, purity_with_accuracy, rank_correlation
from whatwhere.studies.dynamics.history import Training


def test_ranks_that_agree_are_one_and_constant_ones_are_undefined() -> None:
    steps = np.arange(5)
    assert rank_correlation(steps, steps**3) == pytest.approx(1)
    assert rank_correlation(steps, -steps) == pytest.approx(-1)
    assert math.isnan(rank_correlation(steps, np.ones(5)))
    assert math.isnan(rank_correlation(steps[:2], steps[:2]))


def test_in_the_papers_world_pure_heads_come_with_accuracy() -> None:
    run = Training(made_up("number", (300, 400, 500, 600)))
    assert purity_with_accuracy(run) > 0.8
    assert heads_with_hops(run, "positional") == pytest.approx(1), "each hop class comes with one positional head"


def test_heads_that_are_pure_from_the_start_follow_nothing() -> None:
    run = Training(
        made_up("number", (300, 400, 500, 600), lambda layer, _: (0.98, 0.04) if layer < 4 else (0.04, 0.98))
    )
    assert math.isnan(purity_with_accuracy(run))
    assert math.isnan(heads_with_hops(run, "positional"))


def test_the_lag_of_a_head_is_counted_from_each_hop_class() -> None:
    rows = lags(Training(made_up("number", (300, 400, 500, 600))))
    first = next(row for row in rows if (row.layer, row.kind, row.hop) == (3, "positional", 1))
    assert (first.pure, first.learned, first.lag) == (600, 289, 311)
    assert len(rows) == 12 * 4
    never = lags(Training(made_up("number", (300, 400, 500, 10**9))))
    assert {row.hop for row in never} == {1, 2, 3}, "a class that is never learned has no lag"
