from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.heads.weighting import TAUS
from whatwhere.model.checkpoint import save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small model: layer 0 looks nowhere in particular, layer 1 at itself."""
    task = NumberTask()
    made = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=32, d_mlp=32), seed=0)
    made.task = task
    first, second = made.layers()
    with torch.no_grad():
        first.w_in[:32] = 0
        second.w_in[:64] = torch.eye(32).repeat(2, 1) * 3
    path = tmp_path / "model.safetensors"
    save_model(path, made)
    return path


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["heads", *words, "--inputs", "12"], env={"COLUMNS": "80"})


def test_the_table_names_each_head_and_fits_80_columns(model: Path) -> None:
    result = command(str(model), "--taus")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    (first,) = (line for line in lines if line.startswith("    0    0 1.00 (1.00-1.00)"))
    assert first.split()[-1] == "uniform"
    text = " ".join(result.stdout.split())
    assert "attends mostly to itself" in text
    assert all(f"tau {tau:g}" in text for tau in TAUS)


def test_json_holds_settings_heads_and_temperatures(model: Path) -> None:
    result = json.loads(command(str(model), "--json", "--taus", "--seed", "3").stdout)
    assert (result["task"], result["inputs"], result["seed"], result["tau"], result["level"]) == (
        "number",
        12,
        3,
        0.01,
        "keys",
    )
    assert result["heads"][0]["label"] == "uniform"
    assert [head["self_attending"] for head in result["heads"]] == [False, True]
    assert [entry["tau"] for entry in result["taus"]] == list(TAUS)


def test_out_writes_a_tidy_table_with_its_settings(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "heads.csv"
    assert command(str(model), "--out", str(out)).exit_code == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["layer"] for row in rows] == ["0", "1"]
    assert {row["tau"] for row in rows} == {"0.01"}
    assert 0 <= float(rows[1]["positional_low"]) <= float(rows[1]["positional"])


def test_windows_are_shown_and_listed(model: Path) -> None:
    shown = command(str(model), "--windows").stdout
    assert "pre-target" in shown
    listed = json.loads(command(str(model), "--windows", "--json").stdout)["windows"]
    assert [(row["layer"], row["window"]) for row in listed[:2]] == [(0, "target"), (0, "pre-target")]


def test_swapping_tokens_is_named_as_such(model: Path) -> None:
    result = command(str(model), "--level", "tokens")
    assert "Tokens were swapped" in result.stdout


def test_a_model_that_does_not_say_its_task_needs_one(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(path, GPTJ(ModelConfig(vocab_size=136, layers=1, d_model=16, d_mlp=16)))
    with pytest.raises(WhatwhereError, match="--task number"):
        raise command(str(path)).exception or AssertionError
    assert command(str(path), "--task", "number").exit_code == 0
