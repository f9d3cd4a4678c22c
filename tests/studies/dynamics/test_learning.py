"""When a hop class is learned, against curves whose crossing is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from dynamics_world import made_up

from whatwhere.heads.estimate import share
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.learning import crossing, crossings, spread
from whatwhere.studies.dynamics.tables import Accuracy

STEPS = np.arange(0, 600, 100)


def test_a_crossing_lies_between_the_evaluations_around_it() -> None:
    assert crossing(STEPS, np.array([0.1, 0.2, 0.8, 1.0, 1.0, 1.0])) == pytest.approx(250)
    assert crossing(STEPS, np.array([0.95, 1, 1, 1, 1, 1])) == 0
    assert crossing(STEPS, np.array([0.1, math.nan, 0.8, 1.0, 1.0, 1.0])) == pytest.approx(250)


def test_one_lucky_evaluation_is_no_crossing() -> None:
    """The first of these reaches 0.9 at step 100, and then falls back."""
    assert crossing(STEPS, np.array([0.2, 0.92, 0.4, 0.5, 0.8, 1.0])) == pytest.approx(450)


def test_a_class_that_is_never_learned_has_no_crossing() -> None:
    assert math.isnan(crossing(STEPS, np.full(6, 0.5)))
    assert math.isnan(crossing(STEPS, np.full(6, math.nan)))


@pytest.mark.slow
def test_the_ratio_of_steps_has_an_interval_from_the_inputs_of_each_accuracy() -> None:
    run = Training(made_up("number", (300, 400, 500, 600)))
    found = crossings(run)
    assert [round(step) for step in found.values()] == [289, 389, 489, 589]  # between 0.2 and 0.99, near the end
    ratio = spread(run)
    assert ratio.value == pytest.approx(589 / 289, abs=0.01)
    assert ratio.low <= ratio.value <= ratio.high
    assert ratio.high - ratio.low < 0.05
    assert ratio.n == 1200
    assert spread(run) == ratio
    assert math.isnan(spread(Training(made_up("number", (300, 10**9)))).value)


def test_evaluations_count_by_their_inputs() -> None:
    """The third evaluation falls back: of few inputs it is noise, of many it moves the crossing."""
    shares = np.array([0.2, 0.5, 0.95, 0.5, 1.0, 1.0])
    few, many = np.array([100.0, 100, 1000, 1, 1000, 1000]), np.array([100.0, 100, 1, 1000, 1000, 1000])
    assert crossing(STEPS, shares, few) < 200
    assert crossing(STEPS, shares, many) > 300


def test_scored_inputs_and_the_trainings_own_evaluations_are_pooled() -> None:
    """As for a shipped model, of which few checkpoints are scored."""
    results = made_up("number", (300, 400, 500, 600))
    rows = results.rows("accuracy", Accuracy)
    own = [replace(row, split="validation", accuracy=share(0, 100)) for row in rows]
    results.write("accuracy", [*own, *(row for row in rows if row.step == 1000)])
    run = Training(results)
    assert run.steps.tolist() == list(range(0, 1100, 100))
    last = [row.accuracy for row in rows if row.step == 1000]
    assert run.counts[0].tolist() == [100] * 4
    assert run.counts[-1].tolist() == [one.n + 100 for one in last]
    assert run.accuracy[-1].tolist() == pytest.approx([one.value * one.n / (one.n + 100) for one in last])
