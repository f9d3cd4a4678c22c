"""A tiny language model with its tokenizer, and a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, VOCABULARY, tiny_model

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


@pytest.fixture
def text(tmp_path: Path) -> str:
    """60 words."""
    path = tmp_path / "text.txt"
    path.write_text(" ".join(f"w{3 + (i * i) % 40}" for i in range(60)))
    return str(path)
