import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import whatwhere as ww
from whatwhere.cli import app
from whatwhere.errors import WhatwhereError


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
    assert "not tested" in command(tmp_path).stdout


def test_a_directory_without_results_is_refused(tmp_path: Path):
    result = command(tmp_path)
    assert isinstance(result.exception, WhatwhereError)
    assert "expected a reproduction, a run or the results of a study" in str(result.exception)
    assert not list(tmp_path.iterdir())
