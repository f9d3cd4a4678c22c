import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.cli import sweep as command
from whatwhere.errors import WhatwhereError
from whatwhere.store import locks
from whatwhere.studies import progress_bar
from whatwhere.work.executor import Job, Outcome, ThisProcess
from whatwhere.work.jobs import open_or_create
from whatwhere.work.sweep_spec import read_sweep

SPEC = 'preset = "smoke"\ntask = ["number", "letter"]\nseed = [0]\n[measure.dynamics]\ninputs = 4\n'


class Broken(ThisProcess):
    """An executor that fails on the items of the given names."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names

    def begin(self, job: Job) -> None:
        super().begin(job)
        self.job = job.name

    def next(self) -> Outcome:
        if self.job in self.names:
            self._job = None
            return Outcome(self.job, problem="it broke")
        return super().next()


def run(spec: Path, *words: object) -> Result:
    return CliRunner().invoke(app, ["sweep", str(spec), *map(str, words)])


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "sweep.toml").write_text(SPEC)
    return tmp_path / "sweep.toml"


@pytest.mark.slow
def test_a_sweep_ends_with_a_table_a_figure_and_a_page(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    predicted = json.loads(run(spec, "--out", tmp_path / "out", "--dry-run", "--json").stdout)["bytes"]
    monkeypatch.setattr(command, "_executor", lambda _count, _ray, progress: ThisProcess(progress))
    monkeypatch.setattr(progress_bar, "LINE_EVERY", 0.0)
    done = run(spec, "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    assert "letter-seed0: warm-up, accuracy by hops" in done.stderr, "items under way are shown"
    result = json.loads(done.stdout)
    assert [row["item"] for row in result["items"]] == ["number-seed0", "letter-seed0"]
    assert any(key.startswith("dynamics_") for key in result["items"][0])
    assert result["failed"] == 0
    for file in result["files"]:
        assert Path(file).stat().st_size > 1000
    assert predicted == pytest.approx(sum(path.stat().st_size for path in tmp_path.rglob("*.safetensors")), rel=0.2)
    again = run(spec, "--out", tmp_path / "out")
    assert "letter-seed0" in again.stdout
    assert "letter-seed0: done" not in again.stderr, "what is done is not done again"


@pytest.mark.slow
def test_a_failure_is_reported_and_does_not_stop_the_rest(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "_executor", lambda *_: Broken("number-seed0"))
    done = run(spec, "--out", tmp_path / "out", "--retries", 1)
    assert done.exit_code == command.SOME_FAILED
    assert "number-seed0 failed, it is tried again: it broke" in done.stderr
    assert "number-seed0 failed, given up: it broke" in done.stderr
    assert "1 of 2 items failed" in done.stderr
    table = pd.read_csv(tmp_path / "out" / "sweep.csv")
    assert table["status"].tolist() == ["failed", "done"]
    assert table["problem"].fillna("").tolist() == ["it broke", ""]


def test_a_dry_run_lists_and_estimates_and_leaves_nothing(spec: Path, tmp_path: Path):
    done = run(spec, "--out", tmp_path / "out", "--dry-run", "--workers", 3)
    assert done.exit_code == 0, done.output
    assert "letter-seed0" in done.stdout
    assert "2 items:" in done.stdout
    result = json.loads(run(spec, "--out", tmp_path / "out", "--dry-run", "--json").stdout)
    assert result["bytes"] == sum(item["bytes"] for item in result["items"]) > 0
    assert all(item["seconds"] > 0 for item in result["items"])
    assert not (tmp_path / "out").exists()


def test_an_interrupted_sweep_says_how_to_go_on(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Stopped(ThisProcess):
        def next(self) -> Outcome:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "_executor", lambda *_: Stopped())
    stopped = run(spec, "--out", tmp_path / "out")
    assert stopped.exit_code == 130
    assert "the same command continues" in stopped.stderr


def test_a_mistake_is_refused_before_anything_is_made(spec: Path, tmp_path: Path):
    spec.write_text(SPEC.replace("smoke", "fast"))
    refused = run(spec, "--out", tmp_path / "out")
    assert isinstance(refused.exception, WhatwhereError)
    assert not (tmp_path / "out").exists()


def test_a_directory_with_another_run_of_the_name_is_refused_before_anything_is_done(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(command, "_executor", lambda *_: pytest.fail("work has begun"))
    last = read_sweep(spec)[-1]
    assert last.training is not None
    open_or_create(tmp_path / "out" / "items" / last.name, last.training)
    spec.write_text(SPEC.replace('task = ["number", "letter"]', 'task = ["number", "letter"]\nlr = 0.5'))
    refused = run(spec, "--out", tmp_path / "out")
    assert isinstance(refused.exception, WhatwhereError)
    assert "Choose another --out" in str(refused.exception)
    assert [path.name for path in (tmp_path / "out" / "items").iterdir()] == [last.name]


def test_a_second_sweep_in_the_same_place_is_refused(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    with locks.hold(tmp_path / "out", "sweep"):
        refused = run(spec, "--out", tmp_path / "out", "--workers", 1)
    assert isinstance(refused.exception, WhatwhereError)
    assert "is in use" in str(refused.exception)
    assert not (tmp_path / "out" / "items").exists()
