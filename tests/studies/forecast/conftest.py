"""Tiny models, and made-up tables of variants that break where they were said to, or elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.forecast import FORECAST
from whatwhere.studies.forecast.calibration import calibration_rows, points
from whatwhere.studies.forecast.tables import (
    CARRIED,
    CHAIN,
    DISPERSION,
    THRESHOLDS,
    ForecastSettings,
    MeasuredBreak,
    PredictedBreak,
    Variant,
)
from whatwhere.studies.results import Results
from whatwhere.tasks import Task

LONGEST = 1000
SURE = Estimate(1.0, 0.98, 1.0, 96)


def tiny(task: Task, layers: int = 2, heads: int = 1) -> GPTJ:
    config = ModelConfig(vocab_size=task.vocab_size, layers=layers, heads=heads, d_model=32, d_mlp=32, init_std=0.4)
    model = GPTJ(config, seed=0)
    model.task = task
    return model


def made_up(
    task: str, breaks: Mapping[str, float], said: Mapping[str, float] | None = None, *, tuned: bool = False
) -> Results:
    """Results in memory: where each variation breaks (inf: not), and what ``carried`` said, by default the same."""
    results = Results(FORECAST, ForecastSettings(longest=LONGEST), task, inputs={"task": {"name": task}})
    variants = [Variant(task, "f" * 16, task, name, tuned, 17, SURE, True) for name in breaks]
    forecasts = [
        PredictedBreak(task, name, method, threshold, math.nan if math.isinf(length) else length, math.isinf(length))
        for name in breaks
        for threshold in THRESHOLDS
        for method, length in ((CARRIED, (said or breaks)[name]), (CHAIN, 40.0), (DISPERSION, 900.0))
    ]
    measured = [
        MeasuredBreak(task, name, threshold, Estimate(at, at * 0.9, at * 1.1, 24), LONGEST)
        for name, length in breaks.items()
        for threshold in THRESHOLDS
        for at in [math.nan if math.isinf(length) else length]
    ]
    results.write("variants", variants)
    results.write("forecasts", forecasts)
    results.write("breaks", measured)
    results.write("calibration", calibration_rows(points(results.rows)))
    return results


@pytest.fixture(name="tiny")
def _tiny() -> Callable[..., GPTJ]:
    return tiny


@pytest.fixture(name="made_up")
def _made_up() -> Callable[..., Results]:
    return made_up
