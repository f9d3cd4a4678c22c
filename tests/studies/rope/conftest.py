"""Tiny models with a fault in some layers, and as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, tiny_model


@pytest.fixture
def saved(tmp_path: Path, word_tokenizer: Any) -> Callable[[Any, str], str]:
    """Writes a model with its tokenizer and returns the directory."""

    def save(model: Any, name: str) -> str:
        model.save_pretrained(tmp_path / name)
        word_tokenizer.save_pretrained(tmp_path / name)
        return str(tmp_path / name)

    return save


@pytest.fixture
def llama() -> Any:
    """Two layers, heads of eight coordinates."""
    return tiny_model(FAMILIES["Llama"])
