import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import whatwhere as ww
from whatwhere.cli import app
from whatwhere.cli.report import print_claims
from whatwhere.errors import WhatwhereError
from whatwhere.studies.claim import Judged
from whatwhere.studies.judging import all_claims
from whatwhere.training.options import Options
from whatwhere.training.run import Run


def command(*words: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, words)])


@pytest.mark.slow
def test_a_reproduction_is_drawn_judged_and_shown_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ww.study("length", "letter", out=tmp_path / "letter", inputs=16, lengths=(33,), varied_lengths=())
    result = command(tmp_path, "--json")
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    assert Path(made["page"]).is_file()
    assert "figure-5b-length.png" in {Path(file).name for file in made["figures"]}
    assert "not tested" in {claim["verdict"] for claim in made["claims"]}
    monkeypatch.setattr("whatwhere.work.reporting.draw", lambda *_, **__: [])  # the same again
    assert "have no results here and are not listed" in command(tmp_path).stdout


def test_claims_without_results_are_counted_and_not_listed(capsys: pytest.CaptureFixture[str]):
    first, second, third, *_ = all_claims()
    print_claims(
        [
            Judged(first, "holds", "", 1.0),
            Judged(second, "not tested", "", missing=True),
            Judged(third, "not tested", ""),
        ]
    )
    shown = capsys.readouterr().out
    assert first.title in shown
    assert second.title not in shown
    assert third.title in shown, "it has results, which do not allow the question"
    assert "2 not tested" in shown
    assert "1 claim has no results here and is not listed." in shown


def test_a_directory_without_results_is_refused(tmp_path: Path):
    result = command(tmp_path)
    assert isinstance(result.exception, WhatwhereError)
    assert "expected a reproduction, a run or the results of a study" in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_a_run_without_results_is_answered_with_the_command_for_runs(tmp_path: Path):
    run = tmp_path / "run"
    Run(run).create(Options("number", preset="smoke", device="cpu").config())
    assert f"got {run} without results. Make them with: whatwhere dynamics {run}" in str(command(run).exception)
