import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.cli import sweep as command
from whatwhere.errors import WhatwhereError
from whatwhere.work.sweep_spec import Item
from whatwhere.work.sweep_workers import Answer, attempt_item

SPEC = 'preset = "smoke"\ntask = ["number", "letter"]\nseed = [0]\n[measure]\nscores = 4\n'


class Here:
    """A worker in this very process, which breaks on the items of the given names."""

    def __init__(self, place: str, broken: tuple[str, ...] = ()) -> None:
        self.place, self.broken = place, broken
        self.item: tuple[Item, int] | None = None

    @property
    def room(self) -> float:
        return float(self.item is None)

    def begin(self, item: Item, attempt: int) -> None:
        self.item = (item, attempt)

    def next(self) -> Answer:
        assert self.item is not None
        (item, attempt), self.item = self.item, None
        if item.name in self.broken:
            return item, None, "it broke"
        return item, *attempt_item(self.place, item, attempt)

    def stop(self) -> None:
        self.item = None


def run(spec: Path, *words: object):
    return CliRunner().invoke(app, ["sweep", str(spec), *map(str, words)])


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "sweep.toml").write_text(SPEC)
    return tmp_path / "sweep.toml"


def test_a_sweep_ends_with_a_table_a_figure_and_a_page(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    foretold = json.loads(run(spec, "--out", tmp_path / "out", "--dry-run", "--json").stdout)["bytes"]
    monkeypatch.setattr(command, "_workers", lambda out, *_: Here(out))
    done = run(spec, "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert [row["item"] for row in result["items"]] == ["number-seed0", "letter-seed0"]
    assert result["failed"] == 0
    for file in result["files"]:
        assert Path(file).stat().st_size > 1000
    assert foretold == pytest.approx(sum(path.stat().st_size for path in tmp_path.rglob("*.safetensors")), rel=0.2)
    again = run(spec, "--out", tmp_path / "out")
    assert again.stderr.count("done before") == 2
    assert "letter-seed0 done" in again.stdout


def test_a_failure_is_reported_and_does_not_stop_the_rest(spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "_workers", lambda out, *_: Here(out, ("number-seed0",)))
    done = run(spec, "--out", tmp_path / "out", "--retries", 1)
    assert done.exit_code == command.SOME_FAILED
    assert "number-seed0 failed, it is tried again: it broke" in done.stderr
    assert "number-seed0 failed, given up: it broke" in done.stderr
    assert "1 of 2 items failed" in done.stderr
    with (tmp_path / "out" / "sweep.csv").open(newline="") as opened:
        assert [row["status"] for row in csv.DictReader(opened)] == ["failed", "done"]


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
    class Stopped(Here):
        def next(self) -> Answer:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "_workers", lambda out, *_: Stopped(out))
    stopped = run(spec, "--out", tmp_path / "out")
    assert stopped.exit_code == 130
    assert "the same command goes on" in stopped.stderr


def test_a_mistake_is_refused_before_anything_is_made(spec: Path, tmp_path: Path):
    spec.write_text(SPEC.replace("smoke", "fast"))
    refused = run(spec, "--out", tmp_path / "out")
    assert isinstance(refused.exception, WhatwhereError)
    assert "the item number-seed0" in str(refused.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_killed_sweep_takes_its_workers_along(spec: Path, tmp_path: Path):
    spec.write_text('task = "letter"\n')
    begun = subprocess.Popen(
        [sys.executable, "-m", "whatwhere", "sweep", str(spec), "--out", str(tmp_path / "out"), "--workers", "1"]
    )
    run_directory = tmp_path / "out" / "items" / "letter"
    while not _held(run_directory / ".train.lock"):
        assert begun.poll() is None
        time.sleep(0.05)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    while _held(run_directory / ".train.lock"):  # for the hour that it would train, were it left alone
        time.sleep(0.05)


def _held(path: Path) -> bool:
    import fcntl

    if not path.exists():
        return False
    with path.open("r") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_the_example_of_the_help_is_shown_as_it_is_meant():
    shown = CliRunner().invoke(app, ["sweep", "--help"], env={"COLUMNS": "200", **os.environ})
    assert "task = ['number', 'letter']" in " ".join(shown.stdout.replace("│", " ").split())
