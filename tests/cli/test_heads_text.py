"""``whatwhere heads MODEL --text FILE``, with a tiny model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from families import FAMILIES, VOCABULARY, tiny_model
from typer.testing import CliRunner, Result

from whatwhere.cli import app, heads_text
from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.text_heads import COLUMNS


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    place = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model(FAMILIES["SmolLM3"]).save_pretrained(place)
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0").save_pretrained(place)
    return str(place)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(" ".join(f"w{3 + (i * i) % 40}" for i in range(60)))
    return path


def command(model: str, text: Path, *words: str) -> Result:
    arguments = ["heads", model, "--text", str(text), "--tokens", "20", "--queries", "3", *words]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})


def complaint(*arguments: str) -> str:
    error = CliRunner().invoke(app, ["heads", *arguments]).exception
    assert isinstance(error, WhatwhereError)
    return str(error)


def test_the_summary_names_heads_layers_and_labels_and_fits_80_columns(model: str, text: Path):
    result = command(model, text)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    shown = " ".join(result.stdout.split())
    assert "8 heads of tiny (SmolLM3ForCausalLM) on text.txt: 3 windows of 20 tokens, 3 queries each, tau 0.01" in shown
    assert all(title in shown for title in ("The most positional heads", "The most symbolic heads", "Layers: means"))
    assert "bootstrap over windows" in shown
    assert "without rotation (no ID) are symbolic by construction" in shown


def test_json_holds_the_settings_and_every_head(model: str, text: Path):
    result = json.loads(command(model, text, "--json", "--tau", "0.1", "--gamma", "0.05", "--seed", "2").stdout)
    assert (result["tau"], result["gamma"], result["seed"], result["windows"]) == (0.1, 0.05, 2, 3)
    assert len(result["heads"]) == 8
    assert set(COLUMNS) <= set(result["heads"][0])
    assert result["heads"][7]["weighted_id"] is None  # no rotation there


def test_out_writes_the_table(model: str, text: Path, tmp_path: Path):
    out = tmp_path / "heads.csv"
    assert command(model, text, "--out", str(out), "--only", "0.1,1", "--inputs", "1").exit_code == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["layer"], row["head"]) for row in rows] == [("0", "1"), ("1", "0"), ("1", "1"), ("1", "2"), ("1", "3")]
    assert {row["interval"] for row in rows} == {"queries"}


def test_a_single_head_is_shown_whole(model: str, text: Path):
    shown = command(model, text, "--only", "0.2", "--queries", "last", "--inputs", "1").stdout
    assert "1 head of tiny" in shown
    assert "All heads" in shown and "Layers: means" not in shown
    assert "bootstrap" not in shown


def test_mistakes_are_named(model: str, text: Path, tmp_path: Path):
    assert "there is no head 1.9" in complaint(model, "--text", str(text), "--only", "1.9")
    assert "--taus belongs to models of whatwhere" in complaint(model, "--text", str(text), "--taus")
    assert "--step belongs to models of whatwhere" in complaint(model, "--text", str(text), "--step", "0")
    assert "say on which text, with --text FILE" in complaint(model)
    assert "say on which text" in complaint("owner/name")
    assert "knows its task's tokens only; leave out --text" in complaint("number", "--text", str(text))
    assert "there is nothing" in complaint(str(tmp_path / "missing"), "--text", str(text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tau", "0"], "tau must be a number above 0"),
        (["--gamma", "0.7"], "gamma must lie between 0 and 0.5"),
        (["--text", "missing.txt"], "a text file was expected at missing.txt"),
    ],
)
def test_a_mistake_in_a_setting_shows_before_the_model_is_loaded(text: Path, options: list[str], message: str):
    assert message in complaint("no/model", "--text", str(text), *options)


def test_a_run_is_no_language_model_and_neither_is_a_damaged_directory(tmp_path: Path):
    assert not heads_text.is_language_model(str(tmp_path))
    (tmp_path / "config.json").write_text('{"task": "number"}')
    assert not heads_text.is_language_model(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    assert not heads_text.is_language_model(str(tmp_path))


def test_a_gguf_file_needs_a_text_too(tmp_path: Path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert "--text FILE" in complaint(str(tmp_path / "model.gguf"))
