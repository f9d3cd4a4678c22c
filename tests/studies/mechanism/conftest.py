"""A small model that guesses, what the study finds on it, and a model that is built by hand and applies Index."""

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
from whatwhere.theory.index_head import index_head

COIN = NumberTask(symbols=2, target=3, context=3, integers=6, max_hops=2)

HAND = NumberTask(symbols=6, target=3, context=3, integers=6, max_hops=3)
BIAS = 200.0
"""Of the stream of the built model: so large that LayerNorm divides every position by the same number."""


def make_index_machine(layers: int = 4) -> GPTJ:
    """T_Index of the paper's Theorem 1 in each layer of a GPT-J without MLP: what it does is known exactly.

    The stream holds a vector and its negative, so that its mean is 0. Letters ask for themselves only weakly: a
    position that holds both continues following its integer.
    """
    built = index_head(1.0, 1.0, symbols=6, integers=6, length=7)
    half = built.embedding.shape[1]
    config = ModelConfig(vocab_size=12, layers=layers, d_model=2 * half, d_mlp=2, rotary_dim=2)
    model, unit = GPTJ(config), BIAS / half**0.5  # LayerNorm divides by this
    query = built.query.clone()
    query[:, :6] *= 0.005
    embedding = built.embedding.clone()
    embedding[:, -1] = BIAS
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.zero_()
        model.embedding.weight.copy_(torch.cat([embedding, -embedding], 1))
        model.head.weight[:, :half] = 10 * unit * built.unembedding
        for block in model.layers():
            d = 2 * half
            block.w_in[:2, :half] = 4000 * d**0.5 * unit * query
            block.w_in[d : d + 2, :half] = unit / BIAS * built.key
            block.w_in[2 * d : 2 * d + half, :half] = unit * built.value
            block.w_in[2 * d + half : 3 * d, :half] = -unit * built.value
            block.w_out[:, :d] = torch.eye(d)
    model.task = HAND
    return model


@pytest.fixture(scope="session")
def index_machine() -> GPTJ:
    return make_index_machine()


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
