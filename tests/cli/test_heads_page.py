"""``whatwhere heads MODEL --text FILE --page out.html``."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError


def test_the_page_holds_the_heads_and_the_text(tmp_path: Path) -> None:
    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=16, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2,
        )
    ).save_pretrained(tmp_path / "model")  # fmt: skip
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(16)}, "w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(tmp_path / "model")
    (tmp_path / "text.txt").write_text(" ".join(f"w{i % 13}" for i in range(40)))
    page = tmp_path / "deep" / "heads.html"
    arguments = ["heads", str(tmp_path / "model"), "--text", str(tmp_path / "text.txt"), "--page", str(page)]
    result = CliRunner().invoke(app, [*arguments, "--json", "--only", "1"])
    assert result.exit_code == 0, result.output
    assert f"The page: {page}" in result.stderr.replace("\n", "")
    written = page.read_text(encoding="utf-8")
    assert '"layer":1,"head":1' in written
    assert '"layer":0' not in written
    assert '"tokens":["w0"," w1"' in written


def test_a_page_of_a_run_is_the_reports() -> None:
    result = CliRunner().invoke(app, ["heads", "number", "--page", "heads.html"])
    assert isinstance(result.exception, WhatwhereError)
    assert "whatwhere report RUN" in str(result.exception)
    assert not Path("heads.html").exists()
