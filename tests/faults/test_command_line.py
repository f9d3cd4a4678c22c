"""Arguments that nobody would think of, for every command there is: an answer or a message, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from harness import LONG, command, no_figures
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whatwhere.cli import app
from whatwhere.studies import STUDIES

EXAMPLES = 80 if LONG else 12
CODES = {0, 1, 2, 130}
ODD = [
    "", "-1", "0", "1", "2", "3.5", "nan", "inf", "-inf", "1e400", "99999999999999999999", "number", "letter", "auto",
    "..", "/", "/dev/null", "/proc/self/mem", "*", "--", "-", "\x1b[2J", "a b", "ü", "'", "{}", "s3:", "smoke",
    "x" * 300,
]  # fmt: skip
_GROUP: Any = typer.main.get_command(app)
COMMANDS = {name: _GROUP.get_command(click.Context(_GROUP), name) for name in _GROUP.list_commands(None)}


def test_every_command_is_tried():
    assert {"data", "train", "compare", "share", "reproduce", "report", "sweep", *STUDIES} == COMMANDS.keys()


@pytest.fixture
def idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets no command begin long work, or reach for the network: a message says that it was reached."""
    from whatwhere.errors import WhatwhereError

    def reached(*_: object, **__: object) -> Any:
        raise WhatwhereError("the work would begin now")

    for work in (
        "whatwhere.training.loop.train",
        "whatwhere.studies.measuring.measure",
        "whatwhere.work.reproduction.Reproduction.run",
        "whatwhere.work.sweep_run.Sweep.run",
        "whatwhere.tasks.task.Task.dataset",
    ):
        monkeypatch.setattr(work, reached)
    monkeypatch.setattr(import_module("whatwhere.trace.open"), "load_rotary", reached)  # whatwhere.trace is callable
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


def value(parameter: Any) -> st.SearchStrategy[str]:
    """Words for an option: right, nearly right and absurd."""
    descriptor = getattr(parameter, "type_descriptor", None)
    kind = getattr(descriptor, "annotation", str)
    choices = [str(choice.value) for choice in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []
    known = st.sampled_from(choices) if choices else st.integers(-3, 40).map(str)
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
    return st.one_of(known, known, st.sampled_from(ODD), text)


@st.composite
def arguments(draw: st.DrawFn, name: str) -> list[str]:
    made = [name]
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "argument":
            if draw(st.integers(0, 9)):
                made += [draw(st.one_of(st.sampled_from(["number", "letter"]), value(parameter)))]
        elif parameter.name != "help" and (parameter.required or draw(st.integers(0, 3)) == 0):
            made.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
            if not getattr(parameter, "is_flag", False):
                named = parameter.name in ("out", "to") and draw(st.booleans())
                made.append("out" if named else draw(value(parameter)))
    return made + ([draw(st.sampled_from(ODD))] if draw(st.integers(0, 7)) == 0 else [])


@pytest.mark.slow
@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_arguments_bring_a_traceback(name: str, record_property: Callable[[str, object], None]):
    tried = 0

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(made=arguments(name))
    def check(made: list[str]) -> None:
        nonlocal tried
        tried += 1
        ended = command(*made)
        assert ended.code in CODES, (made, ended)
        assert "Traceback" not in ended.out + ended.err, (made, ended)

    check()
    record_property("figure", f"arguments of {name}: {tried} tried, the long work left out")


_TRAIN = ("train", "number", "--preset", "smoke", "--out")
_HUGE, _DIGITS = "99999999999999999999", "9" * 5000
REFUSED: list[tuple[tuple[str, ...], str]] = [
    ((*_TRAIN, "new", "--seed", "-1"), "expected a seed of 0 or more, got -1"),
    ((*_TRAIN, "new", "--seed", _HUGE), "expected seed of at most"),
    ((*_TRAIN, "new", "--seed", _DIGITS), "Invalid value for '--seed'"),
    ((*_TRAIN, "new", "--lr", "nan"), "expected a learning rate above 0, got nan"),
    ((*_TRAIN, "new", "--rope-base", "-1"), "expected a rope_base above 0"),
    ((*_TRAIN, "new", "--track", ".x"), "no such module is installed"),
    ((*_TRAIN, "new", "--close", _DIGITS), "expected planes by their IDs"),
    ((*_TRAIN, "/"), "exists and is not empty"),
    ((*_TRAIN, ""), "expected a directory, got an empty name"),
    ((*_TRAIN, "a\0b"), "expected a directory, got an empty name"),
    ((*_TRAIN, "~nosuch/x"), "expected a directory, got '~nosuch/x'"),
    ((*_TRAIN, "/dev/null"), "/dev/null exists and is not empty"),
    (("data", "number", "--size", "800", "--out", "/"), "exists and holds something else"),
    (("data", "number", "--size", "800", "--out", ""), "expected a directory, got an empty name"),
    (("data", "number", "--size", "800", "--out", "~nosuch"), "expected a directory, got '~nosuch'"),
    (("data", "number", "--size", "800", "--out", "/dev/null"), "could not write /dev/null"),
    (("data", "number", "--show", "1", "--seed", _HUGE), "expected a seed of 0 or more, and at most"),
    (("data", "number", "--show", "1", "--context", "100000"), "expected at most 32,768 tokens"),
    (("data", "letter", "--show", "1", "--letters", "1000000000"), "tokens in the vocabulary"),
    (("dynamics", "RUN", "--inputs", "0"), "expected inputs of 1 or more, got 0"),
    (("dynamics", "RUN", "--tau", "1e-320"), "expected a tau above 0, got 1e-320; 1e-30 is the least"),
    (("dynamics", "RUN", "--tau", "nan"), "expected a finite number for tau, got nan"),
    (("dynamics", "RUN", "--step", "3"), "No such option: --step"),
    (("heads", "RUN", "--seed", _HUGE), "expected a seed from 0 to"),
    (("heads", "RUN", "--seed", "-1"), "expected a seed from 0 to"),
    (("heads", "RUN", "--tau", "1e-320"), "expected a tau above 0, got 1e-320; 1e-30 is the least"),
    (("heads", "RUN", "--queries", _DIGITS), "expected queries as last, all or a number"),
    (("heads", "RUN", "--only", _DIGITS), "expected layers and heads as 3,5.2,7-9"),
    (("heads", "RUN", "--out", "/dev/null"), "could not write to /dev/null/heads"),
    (("heads", "RUN", "--out", ""), "expected a directory, got an empty name"),
    (("heads", "~nosuch"), "expected a model, got '~nosuch'"),
    (("mechanism", "RUN", "--hops", "-1"), "expected hops from 1 to"),
    (("mechanism", "RUN", "--examples", "1000000000", "--inputs", "40"), "of memory, and"),
    (("geometry", "RUN", "--inputs", "0"), "expected inputs of 16 or more, got 0"),
    (("geometry", "RUN", "--step", "-1"), "has no checkpoint of step -1"),
    (("length", "RUN", "--lengths=-5"), "expected lengths of 1 token or more, got -5"),
    (("length", "RUN", "--lengths", _DIGITS), "expected int values with commas"),
    (("length", "RUN", "--lengths", "1000000000000", "--inputs", "16"), "of memory, and"),
    (("theorems", "--theta", "nan"), "expected a finite number for theta, got nan"),
    (("theorems", "--theta", "0.5", "--length", "100000000"), "expected a length from 2 to"),
    (("theorems", "--theta", "0.5", "--letters", "1000000000"), "expected an alphabet of 2 to"),
    (("chat", "reference/counter", "--max-tokens", "0"), "expected max_tokens from 1"),
    (("chat", "reference/counter", "--sizes", "1000000000", "--dry-run"), "expected sizes from 1"),
    (("chat", "nosuch/model", "--dry-run"), "expected a provider that inspect-ai knows"),
    (("chat", "reference/counter", "--temperature", "nan", "--dry-run"), "expected a finite number for temperature"),
    (("reproduce", "--out", "/dev/null", "--preset", "smoke"), "could not write to /dev/null"),
    (("reproduce", "--out", "new", "--preset", "smoke", "--seed", "-1"), "expected a seed of 0 or more, got -1"),
    (("reproduce", "--out", "new", "--seeds", "1000000000000"), "expected 1 to 1,000 seeds"),
    (("reproduce", "--out", "new", "--workers", "99999999999"), "--workers: expected 1 to 1,024"),
    (("report", "/"), "got / without results"),
    (("sweep", "glob.toml", "--out", "new"), "expected a pattern of paths such as runs/*, got 'a**b/*'"),
    (("sweep", "huge.toml", "--out", "new"), "expected at most 100,000 items, got 200,000"),
    (("sweep", "nan.toml", "--out", "new"), "expected a finite number for tau, got nan"),
    (("sweep", "seed.toml", "--out", "new"), "expected a seed of 0 or more, got -1"),
    (("sweep", "seed.toml", "--out", "~nosuch"), "expected a directory, got '~nosuch'"),
]
SPECS = {
    "glob": 'models = ["a**b/*"]',
    "huge": f'task = "number"\npreset = "smoke"\nseed = {list(range(1000))}\nwarmup = {list(range(200))}',
    "nan": 'task = "number"\npreset = "smoke"\n[measure.heads]\ntau = nan',
    "seed": 'task = "number"\npreset = "smoke"\nseed = [-1]',
}


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[" ".join(words)[:60] for words, _ in REFUSED])
@pytest.mark.slow
def test_a_mistake_ends_with_one_message_and_leaves_nothing(
    words: tuple[str, ...], message: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, text in SPECS.items():
        Path(f"{name}.toml").write_text(text)
    made = [str(finished) if word == "RUN" else word for word in words]
    if str(finished) in made and "--out" not in made:
        made += ["--out", "results"]
    with no_figures():
        ended = command(*made)
    shown = " ".join(ended.err.replace("│", " ").split())  # typer frames its messages
    assert ended.code == 2 and message in shown, ended
    assert "Traceback" not in ended.err
    assert not Path("new").exists() or not [path for path in Path("new").iterdir() if not path.name.startswith(".")]


ENVIRONMENTS: list[tuple[dict[str, str], str]] = [
    ({"WORLD_SIZE": "x"}, "expected WORLD_SIZE in the environment as a whole number"),
    ({"WORLD_SIZE": "-1"}, "expected WORLD_SIZE in the environment as a whole number"),
    ({"WORLD_SIZE": "2"}, "WORLD_SIZE asks for 2 processes"),
    ({"WORLD_SIZE": "2", "RANK": "7", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}, "WORLD_SIZE asks for 2"),
]


@pytest.mark.parametrize(("variables", "message"), ENVIRONMENTS, ids=[str(one) for one, _ in ENVIRONMENTS])
def test_an_odd_environment_is_named(
    variables: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ended = command(*_TRAIN, str(tmp_path / "new"))
    assert ended.code == 2 and ended.is_clear and message in ended.err, ended
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "variables",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=str,
)
def test_an_odd_encoding_is_harmless(variables: dict[str, str], tmp_path: Path):
    """Python reads these when it starts, so this takes a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "whatwhere", "data", "number", "--show", "1"],
        cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0 and "Traceback" not in ended.stderr, ended.stderr
    assert ended.stdout


def test_a_compiler_with_an_unbalanced_quote_is_named(monkeypatch: pytest.MonkeyPatch):
    from whatwhere.errors import WhatwhereError
    from whatwhere.model.kernel import build

    monkeypatch.setenv("CC", "'gcc")
    with pytest.raises(WhatwhereError, match=r"expected a command in \$CC, got"):
        build._compiler()  # pyright: ignore[reportPrivateUsage]
