from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def command(*words: str, **more: str) -> Result:
    return CliRunner().invoke(app, ["chat", *words], env={"COLUMNS": "100"}, **more)  # pyright: ignore[reportArgumentType]


def test_a_dry_run_tells_the_cost_and_leaves_nothing(tmp_path: Path) -> None:
    words = ("openai/gpt-5.4", "--dry-run", "--input-price", "2.5", "--output-price", "10")
    result = command(*words, "--json")
    assert result.exit_code == 0, result.output
    cost = json.loads(result.stdout)["openai/gpt-5.4"]
    assert cost["calls"] == 22_000
    assert cost["dollars"] == pytest.approx((2.5 * cost["input_tokens"] + 10 * cost["output_tokens"]) / 1e6)
    assert "22,000 calls" in command(*words).stderr
    assert not list(tmp_path.iterdir())


def test_what_costs_money_wants_a_yes() -> None:
    result = command("openai/gpt-5.4", "--quick")
    assert isinstance(result.exception, WhatwhereError)
    assert "expected --yes for calls that may cost money" in str(result.exception)


def test_a_no_at_the_question_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatwhere.cli.studies._terminal", lambda: True)
    result = command("openai/gpt-5.4", "--quick", input="n\n")
    assert "This may cost money. Go ahead?" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_numbers_that_are_there_cost_nothing_and_are_shown(tmp_path: Path) -> None:
    result = command("paper", "--out", "here")
    assert result.exit_code == 0, result.output
    assert "paper: nothing is asked" in result.stderr
    assert "Sonnet" in result.stdout
    assert (tmp_path / "here" / "chat" / "figures" / "figure-5cd-chat.png").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("openai/x", "--sizes", "12,long"), "--sizes: expected int values with commas between them"),
        (("openai/x", "--sizes", "1000000000", "--dry-run"), "expected sizes from 1 to 10,000, got 1000000000"),
        (("openai/x", "--max-tokens", "0"), "expected max_tokens from 1 to 1,000,000, got 0"),
        (("perfect",), "expected a model as PROVIDER/NAME"),
    ],
)
def test_a_mistake_is_named_before_anything_is_asked(words: tuple[str, ...], message: str) -> None:
    result = command(*words)
    assert isinstance(result.exception, WhatwhereError)
    assert message in str(result.exception)


def test_only_studies_with_a_cost_have_a_dry_run() -> None:
    runner = CliRunner()
    assert "--dry-run" in runner.invoke(app, ["chat", "--help"], env={"COLUMNS": "100"}).stdout
    assert "--dry-run" not in runner.invoke(app, ["length", "--help"], env={"COLUMNS": "100"}).stdout
