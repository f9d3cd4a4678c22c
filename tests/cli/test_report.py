from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from whatwhere.studies.dynamics.checkpoints import score_run

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.studies.dynamics.history import Settings
from whatwhere.tasks import make_task
from whatwhere.training.loop import train
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run


def report(*words: str) -> Result:
    return CliRunner().invoke(app, ["report", *words])


def test_a_directory_without_results_is_refused_and_left_alone(tmp_path: Path) -> None:
    result = report(str(tmp_path))
    assert isinstance(result.exception, WhatwhereError)
    assert "has no results to draw" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_single_run_is_drawn_and_what_is_missing_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.create(smoke(make_task("letter")))
    train(run)
    score_run(run, Settings(inputs=8))
    result = report(str(run.directory))
    assert result.exit_code == 0, result.output
    assert "figure-2-dynamics.pdf, .png" in result.stdout.replace("\n", "")
    assert f"not there yet, letter length: whatwhere length {run.directory}" in result.stderr
    printed = json.loads(report(str(run.directory), "--json").stdout)
    assert {Path(file).stem for file in printed["figures"]} == {"figure-2-dynamics", "all-layers", "gammas"}
    assert len(printed["missing"]) == 3
