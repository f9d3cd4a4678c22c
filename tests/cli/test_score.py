from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import whatwhere.studies.dynamics.checkpoints
from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.create(smoke(make_task("number")))
    for step in (0, 5):
        run.save_checkpoint(step, GPTJ(run.config.model, seed=step))
    run.write_metrics([{"step": 0.0, "loss": 5.0, "accuracy": 0.1}, {"step": 5.0, "loss": 1.0, "accuracy": 0.9}])
    return run


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["score", *words], env={"COLUMNS": "80"})


def test_score_writes_the_table_and_says_where(run: Run) -> None:
    result = command(str(run.directory), "--inputs", "8")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "2 checkpoints scored at tau 0.01 on 8 inputs" in text
    assert "Accuracy is maximal from step 5 on." in text
    assert len(run.scores_path.read_text().splitlines()) == 1 + 2 * 2


def test_json_is_the_only_thing_on_stdout(run: Run) -> None:
    result = json.loads(command(str(run.directory), "--inputs", "8", "--tau", "0.1", "--json").stdout)
    assert result["settings"] == {"tau": 0.1, "inputs": 8, "seed": 0}
    assert result["checkpoints"] == 2
    assert [(entry["gamma"], entry["kind"]) for entry in result["pure"]] == [
        (0.1, "positional"),
        (0.1, "symbolic"),
        (0.05, "positional"),
        (0.05, "symbolic"),
    ]


def test_without_metrics_the_moment_of_maximal_accuracy_is_unknown(run: Run) -> None:
    run.metrics_path.unlink()
    result = command(str(run.directory), "--inputs", "8", "--json")
    assert json.loads(result.stdout)["step_of_maximal_accuracy"] is None
    assert "maximal" not in command(str(run.directory), "--inputs", "8").stdout


def test_other_settings_need_force(run: Run) -> None:
    command(str(run.directory), "--inputs", "8")
    with pytest.raises(WhatwhereError, match="--force"):
        raise command(str(run.directory), "--inputs", "9").exception or AssertionError
    assert command(str(run.directory), "--inputs", "9", "--force").exit_code == 0


@pytest.mark.parametrize(("words", "code"), [((), 130), (("--follow",), 0)])
def test_an_interruption_says_how_to_go_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(whatwhere.studies.dynamics.checkpoints, "score_model", interrupted)
    result = command(str(run.directory), *words)
    assert result.exit_code == code
    assert "the same command goes on" in " ".join(result.stderr.split())


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match="a run directory"):
        raise command(str(tmp_path)).exception or AssertionError
