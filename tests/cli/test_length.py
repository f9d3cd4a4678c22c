from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import make_task


def saved(directory: Path, name: str, task_name: str) -> Path:
    task = make_task(task_name)
    made = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=32, d_mlp=32, init_std=0.3), seed=0)
    made.task = task
    path = directory / f"{name}.safetensors"
    save_model(path, made)
    return path


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["length", *words, "--inputs", "16", "--lengths", "17,20"], env={"COLUMNS": "80"})


@pytest.mark.slow
def test_the_summary_shows_curves_breaks_and_changes_within_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.studies.length.hop_tables.WORKING", 0.0)  # random heads, so that every cell counts
    result = command(str(saved(tmp_path, "small", "number")), "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines[1:])) <= 80  # the first names a directory, and may be long
    assert "…" not in result.stdout
    assert any(line.split()[:1] == ["20"] and line.split()[-1] == "16" for line in lines)
    assert any(line.startswith("all hops hold") for line in lines)
    assert any(line.startswith("layer 1.0, 4 to go, jump 3") for line in lines)
    assert any(line.startswith("positions interpolated") for line in lines)
    there = {path.name for path in (tmp_path / "out" / "length").iterdir()}
    assert {"accuracy.csv", "hops.csv", "breaks.csv", "figure-5b-length.png", "margins.png"} <= there


def test_several_models_share_one_figure_and_keep_their_own_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "whatwhere.studies.length.figures.draw_length", lambda directory: [directory]
    )  # drawn elsewhere
    first, second = saved(tmp_path, "first", "number"), saved(tmp_path, "second", "letter")
    result = command(str(first), "--compare", str(second), "--no-variations", "--json")
    assert result.exit_code == 0, result.output
    models = json.loads(result.stdout)["models"]
    assert list(models) == [str(first), str(second)]
    assert {row["variation"] for row in models[str(first)]["accuracy"]} == {"as trained"}
    assert (tmp_path / "analysis-first" / "length" / "comparison.png").is_file()
    assert (tmp_path / "analysis-second" / "length" / "accuracy.csv").is_file()


def test_lengths_must_be_whole_numbers(tmp_path: Path) -> None:
    path = str(saved(tmp_path, "small", "number"))
    with pytest.raises(WhatwhereError, match="whole numbers with commas between them"):
        raise CliRunner().invoke(app, ["length", path, "--lengths", "17,long"]).exception or AssertionError


def test_an_interrupt_keeps_what_was_measured_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whatwhere.experiments import length

    real = length.measure_hops

    def stops(model: GPTJ, task: length.Task, batch: object) -> object:
        if batch.tokens.shape[1] > 17:  # pyright: ignore[reportAttributeAccessIssue]
            raise KeyboardInterrupt
        return real(model, task, batch)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(length, "measure_hops", stops)
    result = command(str(saved(tmp_path, "small", "number")), "--out", str(tmp_path / "out"))
    assert result.exit_code == 130
    assert "the same command goes on" in " ".join(result.stderr.split())
    assert "as trained,17" in (tmp_path / "out" / "length" / "accuracy.csv").read_text()
