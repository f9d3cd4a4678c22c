"""Small models, and made-up tables of a model that breaks between 17 and 65 tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.length import LENGTH
from whatwhere.studies.length.breaks import break_rows
from whatwhere.studies.length.tables import MEASURED, PREDICTED, Accuracy, Chain, Hop, LengthSettings
from whatwhere.studies.results import Results
from whatwhere.tasks import Task


def tiny(task: Task, layers: int = 2, heads: int = 1) -> GPTJ:
    config = ModelConfig(vocab_size=task.vocab_size, layers=layers, heads=heads, d_model=32, d_mlp=32, init_std=0.4)
    model = GPTJ(config, seed=0)
    model.task = task
    return model


def around(value: float, width: float = 0.01, n: int = 100) -> Estimate:
    return Estimate(value, value - width, value + width, n)


def made_up(
    task: str, accuracy: Mapping[int, float], *, working: bool = True, variation: str = "", trained: float = 1.0
) -> Results:
    """Results in memory; each hop class has the accuracy of the mean, but at the training length its own."""
    results = Results(LENGTH, LengthSettings(), task, inputs={"task": {"name": task}})
    rows = [
        Accuracy(name, n, hop, around(trained if n == 17 and hop else share))
        for name in filter(None, ("as trained", variation))
        for n, share in accuracy.items()
        for hop in (1, 2, None)
    ]
    hops = [
        Hop(source, n, 0, 0, 1, 1, around(margin, 1), around(mass), around(mass), around(mass))
        for source in (MEASURED, PREDICTED)
        for n, margin, mass in ((17, 3.0, 0.95 if working else 0.3), (65, -1.0, 0.2))
    ]
    chain = [
        Chain(source, rule, n, None, around(share), 1)
        for source in (MEASURED, PREDICTED)
        for rule in ("margin", "mass")
        for n, share in ((17, 0.95), (65, 0.2))
        if working
    ]
    results.write("accuracy", rows)
    results.write("hops", hops)
    results.write("chain", chain)
    results.write("breaks", break_rows([row for row in rows if row.variation == "as trained"], hops, chain))
    return results


@pytest.fixture(name="tiny")
def _tiny() -> Callable[..., GPTJ]:
    return tiny


@pytest.fixture(name="around")
def _around() -> Callable[..., Estimate]:
    return around


@pytest.fixture(name="made_up")
def _made_up() -> Callable[..., Results]:
    return made_up
