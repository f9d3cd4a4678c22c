from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.plan import Plan
from whatwhere.studies.chat.run import Outcome

pytestmark = [  # of inspect-ai: an old name of tenacity's, and what its event loop leaves open
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(autouse=True)
def private_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "inspect-data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tidy() -> Iterator[None]:
    """What inspect-ai's event loop leaves open must not surface in somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def command(*words: str, **more: str) -> Result:
    return CliRunner().invoke(app, ["llm", *words], env={"COLUMNS": "80"}, **more)  # pyright: ignore[reportArgumentType]


def mistake(*words: str) -> str:
    result = command(*words)
    assert isinstance(result.exception, WhatwhereError), result.output
    return str(result.exception)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take their time, and one test draws them."""
    monkeypatch.setattr("whatwhere.studies.chat.figures.draw_llm", lambda directory: [directory])


@pytest.mark.slow
@pytest.mark.usefixtures("tidy")
def test_a_model_is_asked_tabulated_and_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("run", "--model", "reference/perfect", "--sizes", "16,100", "--runs", "1,2", "--examples", "3")
    first = command(*words)
    assert first.exit_code == 0, first.output
    assert "24 calls, about" in first.stderr
    assert "reference/perfect: passed" in first.stdout
    assert all(len(line) <= 80 for line in first.stdout.splitlines() if not line.startswith("Logs"))
    assert "…" not in first.stdout
    there = {path.name for path in (tmp_path / "one-hop" / "llm").iterdir()}
    assert there == {"reference-perfect", "table.csv", "table.md", "profile.csv", "screening.csv", "samples.csv",
                     "figure-5cd-llm.pdf", "figure-5cd-llm.png", "profile-llm.pdf", "profile-llm.png"}  # fmt: skip
    monkeypatch.setattr("whatwhere.studies.chat.figures.draw_llm", lambda directory: [directory])
    again = command(*words, "--json")
    assert "0 calls (24 answered already)" in again.stderr
    result = json.loads(again.stdout)
    assert (result["wanted"], result["answered"], result["error"]) == (24, 24, None)
    assert [(row["task"], row["size"], row["mean"], row["sd"]) for row in result["table"]] == [
        ("one_hop_letter", 16, 1.0, 0.0), ("one_hop_letter", 100, 1.0, 0.0),
        ("one_hop_number", 16, 1.0, 0.0), ("one_hop_number", 100, 1.0, 0.0),
    ]  # fmt: skip
    tabulated = command("table", "one-hop", "--out", "elsewhere", "--json")
    assert tabulated.exit_code == 0, tabulated.output
    rows = json.loads(tabulated.stdout)["table"]
    assert [row["source"] for row in rows] == ["measured"] * 4 + ["quoted"] * 60
    assert (tmp_path / "elsewhere" / "llm" / "table.md").read_text() == (tmp_path / "one-hop/llm/table.md").read_text()
    table = command("table", "one-hop").stdout.splitlines()
    assert any(line.split()[:6] == ["Claude", "Sonnet", "3.7", "(quoted)", "300", "0.80"] for line in table)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn", "tidy")
def test_our_own_models_answer_the_multi_hop_task_they_were_trained_on() -> None:
    result = command("run", "--model", "whatwhere/letter", "--sizes", "16", "--runs", "1", "--examples", "8", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["table"]
    assert (row["task"], row["mean"], row["samples"]) == ("multi_hop_letter", 1.0, 8)


@pytest.mark.usefixtures("undrawn", "tidy")
def test_the_screening_comes_first_and_stops_a_model_that_fails() -> None:
    result = command("run", "--model", "reference/guess", "--sizes", "12,16,100", "--runs", "1,2", "--examples", "3",
                     "--screen", "--json")  # fmt: skip
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["answered"] == printed["wanted"] == 9  # of 36
    (row,) = printed["screening"]
    assert row["status"] == "screened out"
    assert "below 0.85" in row["why"]


def test_a_dry_run_estimates_and_asks_nothing(tmp_path: Path) -> None:
    words = ("run", "--model", "openai/gpt-5.4", "--dry-run", "--price", "2.5,10")
    result = command(*words, "--json")
    assert result.exit_code == 0, result.output
    estimate = json.loads(result.stdout)
    assert estimate["calls"] == 22_000
    assert estimate["dollars"] == pytest.approx((2.5 * estimate["input_tokens"] + 10 * estimate["output_tokens"]) / 1e6)
    assert "22,000 calls" in command(*words).stderr
    assert not (tmp_path / "one-hop").exists()
    assert "give --price" in command("run", "--model", "openai/gpt-5.4", "--dry-run").stderr


def test_paid_calls_want_a_yes() -> None:
    assert "Add --yes to go ahead, or --dry-run" in mistake("run", "--model", "openai/gpt-5.4", "--quick")


def test_a_no_at_the_question_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whatwhere.cli.llm._terminal", lambda: True)
    result = command("run", "--model", "openai/gpt-5.4", "--quick", input="n\n")
    assert result.exit_code == 1
    assert "may cost money. Go ahead?" in result.stderr
    assert not (tmp_path / "one-hop").exists()


def test_an_interrupt_says_that_the_same_command_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: object, **__: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr("whatwhere.studies.chat.run.run_plan", stops)
    result = command("run", "--model", "reference/perfect", "--quick")
    assert result.exit_code == 130
    assert "the same command goes on" in " ".join(result.stderr.split())


def test_questions_without_a_reply_are_reported_with_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Plan] = []

    def fails(plan: Plan, *_: object, **__: object) -> Outcome:
        seen.append(plan)
        return Outcome(6, 0, "401 bad key")

    monkeypatch.setattr("whatwhere.studies.chat.run.run_plan", fails)
    result = command("run", "--model", "openai/gpt-5.4", "--quick", "--yes", "--json")
    assert result.exit_code == 1
    assert "6 of 6 questions have no reply. 401 bad key" in " ".join(result.stderr.split())
    assert json.loads(result.stdout)["table"] == []
    assert (seen[0].reasoning, seen[0].sizes, seen[0].examples) == ("none", (16, 32, 100), 40)
    command("run", "--model", "openai/gpt-5.4", "--quick", "--yes", "--reasoning", "default", "-M", "x=1", "-M", "y=z")
    assert seen[1].reasoning is None
    assert seen[1].model_args == {"x": 1, "y": "z"}
    loud = command("run", "--model", "openai/gpt-5.4", "--quick", "--yes", "--reasoning", "low")
    assert "reasoning effort low: the paper measured with reasoning off" in loud.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "reference/perfect", "--sizes", "12,long"), "--sizes expects whole numbers with commas"),
        (("--model", "reference/perfect", "--runs", "one"), "--runs expects whole numbers with commas"),
        (("--model", "reference/perfect", "-M", "noise"), "--model-arg expects KEY=VALUE, such as noise=0.1"),
        (("--model", "openai/x", "--price", "cheap"), "--price expects dollars per million input and output tokens"),
        (("--model", "openai/x", "--price", "1,2,3"), "--price expects dollars per million input and output tokens"),
        (("--model", "reference/perfect", "--tasks", "two_hop"), "'two_hop' arrived"),
        (("--model", "perfect"), "a model is named PROVIDER/NAME"),
        (("--model", "whatwhere/no-such-run"), "there is nothing at no-such-run"),
    ],
)
def test_a_mistake_is_named(words: tuple[str, ...], message: str) -> None:
    assert message in mistake("run", *words)


def test_a_table_of_nothing_is_refused() -> None:
    assert "logs with replies to the benchmark were expected below nowhere" in mistake("table", "nowhere")


@pytest.mark.parametrize("name", ["run", "table"])
def test_each_command_explains_itself_with_an_example(name: str) -> None:
    assert f"whatwhere llm {name}" in " ".join(command(name, "--help").stdout.split())
