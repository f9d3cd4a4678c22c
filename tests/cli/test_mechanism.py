from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random model of a task with two answers, which it guesses."""
    task = NumberTask(symbols=2, target=3, context=3, integers=6, max_hops=2)
    made = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=16, d_mlp=16, init_std=0.5), seed=0)
    with torch.no_grad():
        made.head.bias[2:] = -100
    made.task = task
    path = tmp_path_factory.mktemp("models") / "coin.safetensors"
    save_model(path, made)
    return path


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["mechanism", *words, "--inputs", "40"], env={"COLUMNS": "80"})


@pytest.mark.slow
def test_the_command_tells_draws_and_keeps_what_it_measured(model: Path, tmp_path: Path) -> None:
    result = command(str(model), "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    for heading in ("Roles", "Read-out", "Shortcuts", "Layers", "Ablation", "Patching", "Longer chains"):
        assert heading in result.stdout
    directory = tmp_path / "mechanism"
    made = {path.name for path in directory.iterdir()}
    assert made >= {
        "settings.json",
        "flow.json",
        "roles.csv",
        "figure-3-flow.png",
        "figure-3-flow.pdf",
        "mechanism.png",
    }
    assert (tmp_path / "examples" / "examples.json").is_file()
    tables = {path: path.stat().st_mtime_ns for path in directory.glob("*.csv")}

    again = command(str(model), "--out", str(tmp_path), "--json", "--input", "a b b 3")
    content = json.loads(again.stdout)  # and nothing else is printed
    assert content["flow"]["tokens"] == ["a", "b", "b", "3"]
    assert content["flow"]["answer"] == "a"
    assert content["settings"]["inputs"] == 40
    assert {row["role"] for row in content["roles"]} >= {"index", "itself", "previous"}
    assert all(row["low"] <= row["share"] <= row["high"] and row["count"] for row in content["readout"])
    assert all(path.stat().st_mtime_ns == written for path, written in tables.items())


def test_a_wrong_input_leaves_nothing_behind(model: Path, tmp_path: Path) -> None:
    result = command(str(model), "--out", str(tmp_path / "new"), "--input", "a b")
    with pytest.raises(WhatwhereError, match="'b' does not point"):
        raise result.exception or AssertionError
    assert not (tmp_path / "new").exists()
