"""A tokenizer of whole words for the tiny models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from families import VOCABULARY


@pytest.fixture(scope="session")
def save_tokenizer() -> Callable[[Path], None]:
    """Writes a tokenizer beside a tiny model: token i is the word ``wi``, anything else is w0."""

    def save(place: Path) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

        words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
        words.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0").save_pretrained(place)

    return save
