"""The first token of a GGUF model: put before every text if the file says so."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from logging.handlers import QueueHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from gguf import GGUFWriter
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from whatwhere.errors import WhatwhereError
from whatwhere.trace import gguf


def words(post_processor: Any = None) -> PreTrainedTokenizerFast:
    made: Any = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2}, unk_token="a"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(["<s>"])
    if post_processor is not None:
        made.post_processor = post_processor
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>")


@pytest.mark.parametrize("own", [None, processors.ByteLevel(trim_offsets=False)])
def test_the_first_token_stands_before_every_text_also_once_saved(tmp_path: Path, own: Any):
    tokenizer = gguf.with_first_token(words(own))
    assert tokenizer("a b")["input_ids"] == [0, 1, 2]
    assert gguf.with_first_token(tokenizer)("a b")["input_ids"] == [0, 1, 2]  # once
    tokenizer.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)("a b")["input_ids"] == [0, 1, 2]


def test_a_tokenizer_without_a_first_token_stays_as_it_is():
    tokenizer = words()
    tokenizer.bos_token = None
    assert gguf.with_first_token(tokenizer)("a b")["input_ids"] == [1, 2]


@pytest.mark.parametrize("said", [None, False, True])
def test_the_file_decides_about_its_first_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bool | None):
    writer = GGUFWriter(tmp_path / "model.gguf", "llama")
    if said is not None:
        writer.add_add_bos_token(said)
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    monkeypatch.setattr(gguf, "load_weights", lambda *_, **__: "the model")
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *_, **__: words())
    model, tokenizer = gguf._read(tmp_path / "model.gguf")  # pyright: ignore[reportPrivateUsage]
    assert model == "the model"
    assert tokenizer("b")["input_ids"] == ([0, 2] if said else [2])


@pytest.fixture
def told() -> Iterator[SimpleQueue[Any]]:
    """What the package logs."""
    logger, records = logging.getLogger("whatwhere"), SimpleQueue()
    kept = QueueHandler(records)
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    yield records
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(kept)


def test_the_first_use_of_a_file_says_that_it_takes_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: SimpleQueue[Any]
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(WhatwhereError, match="cannot be read as a GGUF model"):
        gguf.converted(file)
    message = told.get_nowait().getMessage()
    assert told.empty()
    assert str(file) in message and "once" in message
