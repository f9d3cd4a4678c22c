"""A tiny model, and made-up tables of a model that follows some chains beyond training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest

from whatwhere.heads.estimate import Estimate, share
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.hops import HOPS
from whatwhere.studies.hops.tables import Confirmed, HopsSettings, LoopedAccuracy
from whatwhere.studies.mechanism.tables import LayersUsed
from whatwhere.studies.results import Results
from whatwhere.tasks import Task

TRAINED = 4


def tiny(task: Task, layers: int = 3) -> GPTJ:
    config = ModelConfig(vocab_size=task.vocab_size, layers=layers, d_model=32, d_mlp=32, init_std=0.4)
    model = GPTJ(config, seed=0)
    model.task = task
    return model


def made_up(
    task: str, accuracy: Mapping[int, float], *, layer: float = 1.0, lead: float = 0.2, loops: int = 2, never: int = 0
) -> Results:
    """Results in memory: accuracy by hops, layers per hop, and what the loops add beyond training."""
    results = Results(HOPS, HopsSettings(loops=loops), task, inputs={"task": {"name": task}})
    rows, layers = [], []
    for hops, right in accuracy.items():
        about, guess = (hops, hops <= TRAINED), 1.0 if hops == 7 else 0.125
        rows.append(LoopedAccuracy(*about, None, None, 0, share(round(100 * right), 100), guess))
        rows += [
            LoopedAccuracy(*about, *stretch, again, share(round(50 * right), 100), guess)
            for stretch in ((10, 10), (11, 11), (0, 3))
            for again in range(1, loops + 1)
        ]
        depth = layer * hops + 1
        layers.append(LayersUsed(hops, Estimate(depth, depth - 0.1, depth + 0.1, 100 - never), 3, share(0, 100), never))
    before = sum(right for hops, right in accuracy.items() if hops > TRAINED) / max(1, len(accuracy) - TRAINED)
    confirmed = [
        Confirmed(choice, 11, 11, 2, 0.9, Estimate(before, 0, 1, 400), Estimate(before + lead, 0, 1, 400),
                  Estimate(lead, lead - 0.05, lead + 0.05, 400))
        for choice in (("last block", "best") if loops else ())
    ]  # fmt: skip
    results.write("accuracy", rows)
    results.write("layers", layers)
    results.write("confirmed", confirmed)
    assert math.isfinite(before)
    return results


@pytest.fixture(name="tiny")
def _tiny() -> Callable[..., GPTJ]:
    return tiny


@pytest.fixture(name="made_up")
def _made_up() -> Callable[..., Results]:
    return made_up
