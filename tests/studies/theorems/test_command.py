"""``whatwhere theorems``, through the generic command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError

runner = CliRunner()


def test_one_angle_after_another_is_answered_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for theta in ("0.866", "0.0027"):
        result = runner.invoke(app, ["theorems", "--theta", theta, "--length", "100", "--beta", "20"])
        assert result.exit_code == 0, result.exception
        assert f"at angle {theta}" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_out_keeps_the_table_and_json_prints_it(tmp_path: Path) -> None:
    result = runner.invoke(app, ["theorems", "--theta", "1", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.exception
    printed = json.loads(result.stdout)["theory"]
    assert [row["head"] for row in printed["tables"]["reach"]] == ["index", "retrieval"]
    assert printed["tables"]["reach"][1]["needed_beta"] is None
    assert (tmp_path / "theorems" / "reach.csv").is_file()


@pytest.mark.parametrize("option", [["--length", "100000000"], ["--letters", "1000000000"], ["--theta", "-1"]])
def test_absurd_questions_are_refused_at_once(option: list[str]) -> None:
    result = runner.invoke(app, ["theorems", *option])
    assert isinstance(result.exception, WhatwhereError)
    assert str(result.exception).startswith("expected ")
