"""A small model that guesses, and what the study finds on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.tasks import NumberTask
from whatwhere.tasks.task import Task

COIN = NumberTask(symbols=2, target=3, context=3, integers=6, max_hops=2)


def make_guesser(task: Task, seed: int = 0) -> GPTJ:
    """A small random model that names one of the possible answers, and is often right where there are two of them."""
    config = ModelConfig(vocab_size=task.vocab_size, layers=2, heads=2, d_model=16, d_mlp=16, init_std=0.5)
    model = GPTJ(config, seed=seed)
    with torch.no_grad():
        model.head.bias.fill_(-100)
        model.head.bias[torch.as_tensor(task.answer_ids)] = 0
    model.task = task
    return model


@pytest.fixture(scope="session")
def guesser_of() -> Callable[[Task], GPTJ]:
    return make_guesser


@pytest.fixture(scope="session")
def guesser() -> GPTJ:
    return make_guesser(COIN)


@pytest.fixture(scope="session")
def found(guesser: GPTJ) -> Results:
    return study("mechanism", guesser, inputs=80, examples=1)
