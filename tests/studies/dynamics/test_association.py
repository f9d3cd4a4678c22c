"""Pure heads against accuracy, on the paper's made-up world."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dynamics_world import made_up

from whatwhere.studies.dynamics.association import (
    Association,
    at_scored_steps,
    heads_with_hops,
    lags,
    pure_when_learned,
    purity_with_accuracy,
    rank_correlation,
)
from whatwhere.studies.dynamics.history import Training


def test_ranks_that_agree_are_one_and_constant_ones_are_undefined() -> None:
    steps = np.arange(5)
    assert rank_correlation(steps, steps**3) == pytest.approx(1)
    assert rank_correlation(steps, -steps) == pytest.approx(-1)
    assert math.isnan(rank_correlation(steps, np.ones(5)))
    assert math.isnan(rank_correlation(steps[:2], steps[:2]))


def test_in_the_papers_world_pure_heads_come_with_accuracy() -> None:
    run = Training(made_up("number", (300, 400, 500, 600)))
    assert purity_with_accuracy(run).correlation > 0.8
    found = heads_with_hops(run, "positional")
    assert found.correlation == pytest.approx(1), "each hop class comes with one positional head"
    assert found.by_shift < 0.2, "few shifts rank the checkpoints as well"


def test_two_curves_that_rise_at_different_times_correlate_no_better_than_when_they_are_shifted() -> None:
    steps = np.arange(100)
    together = Association.of(1 * (steps >= 30), 1 * (steps >= 30))
    apart = Association.of(1 * (steps >= 30), 1 * (steps >= 60))
    assert (together.correlation, together.by_shift, together.lag) == (pytest.approx(1), 0, 0)
    assert apart.correlation > 0.5, "so a correlation alone proves nothing"
    assert apart.lag == -30, "the second curve is behind"
    assert str(apart).endswith("(heads come 30 checkpoints earlier)")
    assert str(together) == "1.00 (heads come at the same time)"
    assert str(Association(0.5, 0.1, 1)) == "0.50 (heads come 1 checkpoint later)"
    assert apart.by_shift == pytest.approx(25 / 150), "of 150 far shifts, those that let the second rise at 11 to 35"


def test_ranked_checkpoints_are_denser_early_and_end_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatwhere.studies.dynamics.association.POINTS", 4)
    run = Training(made_up("number", (300, 400, 500, 600)))
    kept, accuracy = at_scored_steps(run)
    steps = run.scores.steps[kept]
    assert len(steps) == len(accuracy) == 4
    assert (steps[0], steps[-1]) == (run.scores.steps[0], run.scores.steps[-1])
    assert (np.diff(steps, n=2) > 0).all()


def test_heads_are_counted_that_are_pure_when_a_hop_class_is_learned() -> None:
    run = Training(made_up("number", (300, 400, 500, 600)))
    assert pure_when_learned(run, run.scores, "positional") == {1: 1, 2: 2, 3: 3, 4: 4}
    late = Training(made_up("number", (200, 300, 400, 500)))
    assert pure_when_learned(late, late.scores, "positional") == {1: 0, 2: 1, 3: 2, 4: 3}


def test_heads_that_are_pure_from_the_start_follow_nothing() -> None:
    run = Training(
        made_up("number", (300, 400, 500, 600), lambda layer, _: (0.98, 0.04) if layer < 4 else (0.04, 0.98))
    )
    assert math.isnan(purity_with_accuracy(run).by_shift)
    assert math.isnan(heads_with_hops(run, "positional").by_shift)


def test_the_lag_of_a_head_is_counted_from_each_hop_class() -> None:
    rows = lags(Training(made_up("number", (300, 400, 500, 600))))
    first = next(row for row in rows if (row.layer, row.kind, row.hop) == (3, "positional", 1))
    assert (first.pure, first.learned, first.lag) == (600, 289, 311)
    assert len(rows) == 12 * 4
    never = lags(Training(made_up("number", (300, 400, 500, 10**9))))
    assert {row.hop for row in never} == {1, 2, 3}, "a class that is never learned has no lag"
