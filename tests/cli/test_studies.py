"""Where the command of a study puts results, and what it says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting_study import COUNTING
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.studies import STUDIES
from whatwhere.zoo.take import take


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(STUDIES, "counting", COUNTING)


def command(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def test_models_that_are_compared_have_a_folder_each_below_out_and_the_command_names_both(tmp_path: Path):
    done = command("counting", "number", "--compare", "letter", "--out", "out")
    assert done.exit_code == 0, done.output
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "nothing goes elsewhere"
    assert sorted(str(path) for path in Path("out").rglob("counts.csv")) == [
        "out/letter/counting/counts.csv", "out/number/counting/counts.csv",
    ]  # fmt: skip
    assert "Tables: out/number/counting; 3 files of figures in out/number/counting/figures" in done.stderr
    assert "Tables: out/letter/counting\n" in done.stderr


def test_one_model_has_its_results_in_out_itself():
    assert command("counting", "letter", "--out", "out").exit_code == 0
    assert Path("out/counting/counts.csv").is_file()


def test_two_models_of_one_name_are_refused_before_one_replaces_the_other():
    take("number", Path("runs/letter"))
    refused = command("counting", "letter", "--compare", "runs/letter", "--out", "out", "--force")
    assert isinstance(refused.exception, WhatwhereError)
    assert "expected models with a folder each, got letter and runs/letter" in str(refused.exception)


def test_a_command_says_that_its_results_are_those_of_an_earlier_one():
    assert "up to date" not in command("counting", "letter").stderr
    again = command("counting", "letter")
    assert "analysis-letter/counting is up to date: measured before; --force measures again." in again.stderr
    assert "up to date" not in command("counting", "letter", "--force").stderr


def test_results_of_other_settings_are_refused_with_what_the_command_can_do():
    command("counting", "letter")
    refused = command("counting", "letter", "--inputs", "5")
    assert "expected inputs 5, got 4; replace them with --force, or choose another --out." in str(refused.exception)


def test_a_refused_command_leaves_nothing_behind(tmp_path: Path):
    refused = command("counting", "letter", "--inputs", "0", "--out", "new/place")
    assert "expected 1 or more inputs, got 0" in str(refused.exception)
    assert not list(tmp_path.iterdir())


def test_a_refused_command_leaves_what_was_there(tmp_path: Path):
    Path("out/counting/logs").mkdir(parents=True)
    command("counting", "letter", "--inputs", "0", "--out", "out")
    assert (tmp_path / "out/counting/logs").is_dir(), "what a measurement kept for itself, or a user put there"


def test_a_command_that_keeps_nothing_says_so(tmp_path: Path):
    done = command("theorems", "--theta", "0.866")
    assert "Nothing was kept; --out DIR keeps the tables." in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("study", "home"),
    [
        ("length", "the run itself, or analysis-NAME"), ("dynamics", "the run itself"), ("cache", "analysis-NAME"),
        ("theorems", "the working directory"), ("growth", "the working directory"),
        ("vocabularies", "the sweep itself"), ("atlas", "the sweep itself, or analysis-shipped"),
        ("chat", "chat-PROVIDER-NAME, or the directory with the logs; for paper, the working directory"),
    ],
)  # fmt: skip
def test_the_help_tells_where_results_go(study: str, home: str):
    assert f"[default: ({home})]" in " ".join(command(study, "--help").stdout.replace("│", " ").split())
