"""A language model of which one layer has no rotation, and a small model of ours."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_model

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask
from whatwhere.trace.rotary import RotaryModel


@pytest.fixture(scope="session")
def half_turning(word_tokenizer: Any) -> RotaryModel:
    """Layer 1 has no rotation."""
    return RotaryModel(tiny_model(FAMILIES["SmolLM3"]), "models/half", word_tokenizer)


@pytest.fixture(scope="session")
def own() -> GPTJ:
    """Layer 0 looks nowhere in particular, layer 1 at itself."""
    task = NumberTask()
    made = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=32, d_mlp=32), seed=0)
    made.task = task
    first, second = made.layers()
    with torch.no_grad():
        first.w_in[:32] = 0
        second.w_in[:64] = torch.eye(32).repeat(2, 1) * 3
    return made
