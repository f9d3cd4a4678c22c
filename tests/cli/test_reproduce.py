from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from whatwhere.report import reproduction

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.theory import verification
from whatwhere.theory.check import Check
from whatwhere.training import presets
from whatwhere.work.stage import Stage


def command(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "80"})


@pytest.fixture
def in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> Check:
        return Check("a claim", 10, 0)

    monkeypatch.setattr(verification, "CHECKS", (check,))
    monkeypatch.setattr(
        "whatwhere.studies.claims_face.regressions", lambda *_, **__: []
    )  # most checks are left out here
    monkeypatch.setattr(presets, "cores", lambda: 1)  # so all is done in this process, where these changes are


@pytest.mark.slow
@pytest.mark.usefixtures("in_small")
def test_the_whole_paper_in_small_and_again_in_an_instant(tmp_path: Path) -> None:
    out = tmp_path / "all"
    result = command("reproduce", "--out", str(out), "--preset", "smoke")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "Letter task above" in result.stdout or "holds" in result.stdout
    assert (out / "report.html").stat().st_size < 5e6
    figures = {path.name for path in (out / "figures").iterdir() if path.suffix in (".pdf", ".png")}
    for name in ("figure-2-dynamics", "figure-3-flow-number", "figure-4-geometry-letter", "figure-5a-discrepancy"):
        assert {f"{name}.pdf", f"{name}.png"} <= figures
    with (out / "figures" / "index.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {row["file"] for row in rows} == figures
    assert all((out / folder).is_dir() for row in rows for folder in row["data_in"].split())
    with (out / "timing.csv").open(newline="") as opened:
        timing = {row["stage"]: row for row in csv.DictReader(opened)}
    assert timing["train-number"]["authors_gpu_seconds"] == "1710"
    assert float(timing["total"]["seconds"]) > 0

    again = json.loads(command("reproduce", "--out", str(out), "--preset", "smoke", "--json").stdout)
    assert all(stage["kept"] for stage in again["stages"])
    assert again["total"]["bytes"] == int(timing["total"]["bytes"])
    assert {claim["verdict"] for claim in again["claims"]} == {"holds", "fails", "not tested"}
    assert again["no_longer"] == []


@pytest.fixture
def toy_stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stages that only note that they ran; the second is interrupted the first time."""
    ran: list[str] = []

    def stage(name: str) -> Stage:
        def run(directory: Path, _: object) -> None:
            ran.append(name)
            if ran == ["easy", "hard"]:
                raise KeyboardInterrupt
            directory.joinpath(f"{name}.csv").write_text("done")

        return Stage(name, f"{name} part", (), (f"{name}.csv",), {}, run)

    monkeypatch.setattr(reproduction, "computing_stages", lambda _: [stage("easy"), stage("hard")])
    return ran


def test_an_interruption_says_how_to_go_on_and_it_does(toy_stages: list[str], tmp_path: Path) -> None:
    words = ("reproduce", "--out", str(tmp_path), "--only", "easy", "--only", "hard", "--workers", "1")
    stopped = command(*words)
    assert stopped.exit_code == 130
    assert "Stopped; what was done is kept, and the same command goes on." in stopped.stderr
    assert "easy: easy part ..." in stopped.stderr
    finished = command(*words)
    assert finished.exit_code == 0
    assert toy_stages == ["easy", "hard", "hard"]
    assert "easy =" in finished.stdout


@pytest.mark.usefixtures("toy_stages")
def test_a_wrong_stage_is_refused(tmp_path: Path) -> None:
    result = command("reproduce", "--out", str(tmp_path), "--only", "dance")
    assert isinstance(result.exception, WhatwhereError)
    assert "easy, hard, draw-theory" in str(result.exception)


def test_impossible_plans_are_refused(tmp_path: Path) -> None:
    for words, message in (
        (("--workers", "0"), "one worker or more was expected, and 0 arrived"),
        (("--seeds", "0"), "one seed or more was expected, and 0 arrived"),
        (("--from-zoo", "--seeds", "2"), "the shipped models have the seed 0 only, and 2 from 0 on were asked for"),
    ):
        result = command("reproduce", "--out", str(tmp_path / "out"), *words)
        assert isinstance(result.exception, WhatwhereError)
        assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("toy_stages")
def test_a_claim_that_no_longer_holds_ends_with_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "whatwhere.studies.claims_face.regressions", lambda *_, **__: ["the sky held and is now: fails"]
    )
    result = command("reproduce", "--out", str(tmp_path), "--only", "easy", "--workers", "1")
    assert result.exit_code == 1
    assert "the sky held" in result.stderr
