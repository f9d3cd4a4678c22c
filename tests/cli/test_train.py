import json
import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.tasks import make_task
from whatwhere.training import loop
from whatwhere.training.run import Run


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["train", *map(str, words)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A run that has ended, and what the command told; tests leave it as it is."""
    directory = tmp_path_factory.mktemp("made") / "run"
    return directory, run("number", "--out", directory, "--preset", "smoke", "--threads", 1, "--seed", 3)


def test_a_run_is_made_measured_and_told(made: tuple[Path, Result]):
    directory, result = made
    assert result.exit_code == 0, result.output
    assert "4 hops  accuracy" in result.stdout
    assert "step" not in result.stderr, "without a terminal there is a line every half minute, not one an evaluation"
    config = Run(directory).config
    assert (config.seed, config.threads, config.task.name) == (3, 1, "number")
    assert (directory / "test.csv").is_file()


@pytest.mark.slow
def test_the_options_change_the_configuration(tmp_path: Path):
    model = "--heads 2 --layers 3 --rope-base 0 --attention-dropout 0 --nope-from 2"
    rest = "--generator decoy --letters 10 --lr 0.002 --batch 5 --precision bfloat16 --preset smoke --threads 1"
    result = run("letter", "--out", tmp_path / "run", *model.split(), *rest.split(), "--track", "tensorboard", "--json")
    assert result.exit_code == 0, result.output
    assert [row["hop"] for row in json.loads(result.stdout)["test"]] == [1, 2, 3, 4]
    config = Run(tmp_path / "run").config
    assert (config.model.heads, config.model.layers, config.model.rope_base) == (2, 3, None)
    assert (config.model.attention_dropout, config.model.nope_from) == (0, 2)
    assert config.task == make_task("letter", generator="decoy", letters=10)
    assert (config.schedule.peak, config.batch, config.precision) == (0.002, 5, "bfloat16")
    assert (tmp_path / "run" / "tensorboard").is_dir()


def test_without_a_terminal_a_line_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("whatwhere.studies.progress_bar.LINE_EVERY", 0)
    result = run("number", "--out", tmp_path / "run", "--preset", "smoke", "--threads", 1)
    assert "number: loss" in result.stderr
    assert " 24/24" in result.stderr
    assert "min left" not in result.stderr, "less than a minute is not told"


def test_an_interruption_tells_how_to_go_on_and_resume_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    step = loop._Training._step

    def interrupted(self: loop._Training, *arguments) -> float:
        if self.step == 7:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, *arguments)

    monkeypatch.setattr(loop._Training, "_step", interrupted)
    stopped = run("number", "--out", tmp_path / "run", "--preset", "smoke", "--threads", 1)
    assert stopped.exit_code == 130
    assert "Stopped at step 7" in stopped.stderr
    assert "--resume" in stopped.stderr
    monkeypatch.undo()
    same = ("--preset", "smoke", "--seed", "0", "--device", "auto")
    resumed = run("number", "--out", tmp_path / "run", *same, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert Run(tmp_path / "run").steps()[-1] == 24


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["colour", "--out", "{new}"], "number"),
        (["number", "--out", "{new}", "--preset", "fast"], "expected a preset"),
        (["number", "--out", "{new}", "--device", "abacus"], "got 'abacus'"),
        (["number", "--out", "{new}", "--heads", "3"], "multiple of heads"),
        (["number", "--out", "{new}", "--precision", "half"], "expected a precision (float32, bfloat16), got"),
        (["number", "--out", "{new}", "--preset", "smoke", "--track", "no_such_tracker"], "no such module"),
        (["letter", "--out", "{old}"], "holds a run already"),
        (["letter", "--out", "{old}", "--resume"], "expected a run on the letter task, got the number task"),
        (["number", "--out", "{old}", "--resume", "--lr", "5"], "expected --lr as the run was begun, got 5.0"),
        (["number", "--out", "{old}", "--resume", "--preset", "paper"], "expected --preset as the run was begun"),
        (["number", "--out", "{old}", "--resume", "--seed", "7"], "expected --seed as the run was begun, got 7"),
        (["number", "--out", "{old}", "--resume", "--symbols", "9"], "expected --symbols as the run was begun, got 9"),
        (["number", "--out", "{new}", "--letters", "9"], "expected parameters of the number task"),
        (["number", "--out", "{old}", "--resume", "--threads", "64"], "expected --threads as the run was begun"),
        (["number", "--out", "{new}", "--resume"], "expected a run directory"),
    ],
)
def test_mistakes_are_refused_in_words(made: tuple[Path, Result], tmp_path: Path, words: list[str], message: str):
    old, _ = made
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    result = run(*(word.format(new=tmp_path / "new", old=old) for word in words))
    assert isinstance(result.exception, WhatwhereError)
    assert message in str(result.exception)
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "new").exists()
