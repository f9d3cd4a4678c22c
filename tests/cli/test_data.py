import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask
from whatwhere.tasks.dataset import load_dataset


def run(*words: str):
    return CliRunner().invoke(app, ["data", *words], env={"COLUMNS": "90"})


def test_out_writes_a_dataset_that_loads_with_its_shortcut_report(tmp_path):
    result = run("letter", "--out", str(tmp_path / "data"), "--size", "900", "--seed", "3")
    assert result.exit_code == 0
    assert "810" not in result.stdout  # counts are given by hop class
    assert "one alone with its left letter" in result.stdout
    assert "Written to" in result.stderr
    dataset = load_dataset(tmp_path / "data")
    assert dataset.task == LetterTask()
    assert dataset.seed == 3
    table = pd.read_csv(tmp_path / "data/shortcuts.csv")
    assert list(table.columns) == ["rule", "hopping", "hops", "accuracy", "count"]
    assert "also occur in training: 0" in result.stdout


def test_json_is_the_only_thing_on_stdout(tmp_path):
    result = run("number", "--out", str(tmp_path / "data"), "--size", "800", "--show", "2", "--json")
    content = json.loads(result.stdout)
    assert content["sequences"]["train"] == 720
    assert len(content["shown"]) == 2
    assert {each["rule"] for each in content["shortcuts"]} >= {"any target token"}
    assert result.stderr == ""


@pytest.mark.slow
def test_shortcuts_are_measured_without_writing_anything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("letter", "--generator", "decoy", "--shortcuts")
    assert result.exit_code == 0
    assert "two or more hops from most pre-target tokens *" in result.stdout
    assert "accuracy on 40,000 sequences" in result.stdout
    rows = json.loads(run("letter", "--shortcuts", "--json").stdout)["shortcuts"]
    leak = {
        row["hops"]: row["accuracy"] for row in rows if row["rule"] == "one alone with its left letter and pointed at"
    }
    assert leak[4] > 0.5
    assert not list(tmp_path.iterdir())


def test_help_shows_examples():
    assert "whatwhere data letter --generator decoy --shortcuts" in " ".join(run("--help").stdout.split())


def test_show_draws_sequences_of_the_hop_class_asked_for():
    result = run("number", "--show", "3", "--hops", "2")
    assert result.stdout.count("2 hops, answer") == 3
    assert result.stdout.count("◀") == 6


def test_show_in_json_gives_text_and_path():
    (shown,) = json.loads(run("letter", "--show", "1", "--hops", "4", "--json").stdout)["shown"]
    words = shown["tokens"].split()
    assert len(words) == 17
    assert words[shown["path"][-1]] == shown["answer"]
    assert shown["hops"] == len(shown["path"]) - 1 == 4


def test_parameters_reach_the_task():
    (shown,) = json.loads(
        run("letter", "--letters", "16", "--max-hops", "8", "--show", "1", "--hops", "8", "--json").stdout
    )["shown"]
    assert shown["hops"] == 8
    (shown,) = json.loads(run("letter", "--letters", "64", "--parts", "2", "--show", "1", "--json").stdout)["shown"]
    assert len(shown["tokens"].split()) == 8 + 2 * 9


def test_the_same_data_may_be_written_again_and_other_data_may_not(tmp_path):
    place = str(tmp_path)
    assert run("number", "--out", place, "--size", "800").exit_code == 0
    assert run("number", "--out", place, "--size", "800").exit_code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = run("number", "--out", place, "--size", "800", "--seed", "1")
    assert isinstance(result.exception, WhatwhereError)
    assert "already holds another data set" in str(result.exception)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["number"], "nothing to do: give --out DIR to write the data, --shortcuts"),
        (["number", "--hops", "2", "--out", "x"], "--hops chooses what --show draws, and --show is missing"),
        (["word", "--show", "1"], "expected a task of number, letter, both, got 'word'"),
        (["number", "--letters", "9", "--show", "1"], "got 'letters'"),
        (["letter", "--letters", "4", "--show", "1"], "4 hops need 5 letters"),
        (["letter", "--generator", "none", "--show", "1"], "expected generator of paper, decoy, strict, simple"),
        (["letter", "--context", "100000000", "--show", "1"], "at most 32,768 tokens in a sequence"),
        (["number", "--context", "9999999999", "--out", "x"], "at most 32,768 tokens in a sequence"),
        (["number", "--symbols", "999999999", "--shortcuts"], "at most 1,048,576 tokens in the vocabulary"),
        (["letter", "--size", "9999999999999", "--out", "x"], "of memory"),
    ],
)
def test_mistakes_are_told(words, message):
    result = run(*words)
    assert isinstance(result.exception, WhatwhereError)
    assert message in str(result.exception)
