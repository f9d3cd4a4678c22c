from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.store import locks
from whatwhere.store.manifest import Manifest
from whatwhere.studies import STUDIES, study_named
from whatwhere.training.run import Run
from whatwhere.work import reproduction
from whatwhere.work.executor import Job


def command(*words: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *words], env={"COLUMNS": "100"})


@pytest.mark.slow
def test_the_whole_paper_in_small_and_again_in_an_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The first time in a process of its own, as a user would: the tests of each study check types, this need not."""
    out = tmp_path / "all"
    words = ("--out", str(out), "--preset", "smoke", "--control", "--workers", "1")
    result = subprocess.run(
        [sys.executable, "-m", "whatwhere", "reproduce", *words],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "train-letter-control" in result.stdout
    assert "not tested" in result.stdout
    assert (out / "report.html").stat().st_size < 8e6
    for model in ("number", "letter", "letter-control"):
        assert Run(out / model).ended
        for name in (name for name in STUDIES if study_named(name).subject.part == "run"):
            assert Manifest(out / model / name).record.complete, f"{model} {name}"
    figures = {path.name for path in (out / "figures").iterdir()}
    for name in ("figure-2-dynamics", "figure-5b-length"):
        assert {f"{name}.pdf", f"{name}.png"} <= figures
    assert any(name.startswith("figure-3-flow") and name.endswith("-number.png") for name in figures)
    timing = pd.read_csv(out / "timing.csv").set_index("job")
    assert timing.loc["train-number", "authors_gpu_seconds"] == 1710
    verdicts = pd.read_csv(out / "claims.csv")
    assert {"holds", "not tested"} <= set(verdicts["verdict"])

    monkeypatch.setattr("whatwhere.work.reporting.draw", lambda *_, **__: [])  # the same again
    again = command(*words, "--json")
    told = json.loads(again.stdout)
    assert "length-letter: up to date" in again.stderr
    assert "train-letter: up to date" in again.stderr
    assert len(told["claims"]) == len(verdicts)


@pytest.fixture
def toy_jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Jobs that only note that they ran; the second is interrupted the first time."""
    ran: list[str] = []

    def run(progress: object, name: str, directory: str) -> None:
        del progress, directory
        ran.append(name)
        if ran == ["easy", "hard"]:
            raise KeyboardInterrupt

    def make(*_: object) -> list[Job]:
        return [Job(name, f"{name} part", run, {"name": name, "directory": "."}) for name in ("easy", "hard")]

    monkeypatch.setattr(reproduction, "jobs_of", make)
    return ran


def test_an_interruption_says_how_to_go_on_and_it_does(toy_jobs: list[str], tmp_path: Path):
    words = ("--out", str(tmp_path), "--only", "easy", "--only", "hard", "--workers", "1")
    stopped = command(*words)
    assert stopped.exit_code == 130
    assert "Stopped. What was done is kept; the same command continues." in stopped.stderr
    assert "easy: done" in stopped.stderr
    assert command(*words).exit_code == 0
    assert toy_jobs == ["easy", "hard", "easy", "hard"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workers", "0"), "--workers: expected 1 to 1,024, got 0"),
        (("--seeds", "0"), "expected 1 to 1,000 seeds, got 0"),
        (("--from-zoo", "--seeds", "2"), "expected no --preset, --seed"),
        (("--only", "dance"), "--only: expected a job or a group of"),
        (("--preset", "fast"), "expected a preset of"),
    ],
)
def test_impossible_plans_are_refused_and_nothing_is_made(tmp_path: Path, words: Sequence[str], message: str):
    result = command("--out", str(tmp_path / "out"), *words)
    assert isinstance(result.exception, WhatwhereError)
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_another_reproduction_is_refused(toy_jobs: list[str], tmp_path: Path):
    toy_jobs.append("before")
    words = ("--out", str(tmp_path), "--only", "easy", "--workers", "1")
    assert command(*words, "--preset", "smoke").exit_code == 0
    refused = command(*words, "--preset", "smoke", "--seed", "1")
    assert isinstance(refused.exception, WhatwhereError)
    assert "expected seed 1, got 0; choose another directory." in str(refused.exception), "it has no --force"


def test_a_claim_that_no_longer_holds_ends_with_exit_code_1(
    toy_jobs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    toy_jobs.append("before")
    monkeypatch.setattr(reproduction, "_drawing_jobs", lambda *_: [])
    monkeypatch.setattr(reproduction, "judge", lambda _: [])
    monkeypatch.setattr("whatwhere.page.write_page", lambda _: tmp_path / "report.html")
    monkeypatch.setattr(reproduction, "regressions", lambda *_: ["the sky held and is now: fails"])
    result = command("--out", str(tmp_path), "--workers", "1")
    assert result.exit_code == 1
    assert "the sky held" in result.stderr


def test_a_second_reproduction_in_the_same_place_is_refused(
    toy_jobs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    with locks.hold(tmp_path, reproduction.KIND):
        refused = command("--out", str(tmp_path), "--only", "easy", "--workers", "1")
    assert isinstance(refused.exception, WhatwhereError)
    assert "is in use" in str(refused.exception)
    assert toy_jobs == []
