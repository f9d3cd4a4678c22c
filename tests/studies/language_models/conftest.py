"""A tiny language model with its tokenizer, a small model of ours, and a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, VOCABULARY, tiny_model

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask
from whatwhere.trace.rotary import RotaryModel


@pytest.fixture(scope="session")
def word_tokenizer() -> Any:
    """Token i is the word ``wi``, anything else is w0."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words: Any = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0")


@pytest.fixture(scope="session")
def tiny(word_tokenizer: Any) -> RotaryModel:
    """Two layers of four heads."""
    return RotaryModel(tiny_model(FAMILIES["Llama"]), "models/tiny", word_tokenizer)


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


@pytest.fixture
def text(tmp_path: Path) -> str:
    """60 words."""
    path = tmp_path / "text.txt"
    path.write_text(" ".join(f"w{3 + (i * i) % 40}" for i in range(60)))
    return str(path)
