"""Arguments that nobody would think of, for every command there is: an answer or a message, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer
from harness import LONG, command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whatwhere.cli import app

EXAMPLES = 80 if LONG else 12
CODES = {0, 1, 2, 130}
ODD = [
    "", "-1", "0", "1", "2", "3.5", "nan", "inf", "-inf", "1e400", "99999999999999999999", "number", "letter", "auto",
    "..", "/", "/dev/null", "/proc/self/mem", "*", "--", "-", "\x1b[2J", "a b", "ü", "'", "{}", "s3:", "smoke",
    "x" * 300,
]  # fmt: skip


def commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its words, also those inside groups."""
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, (*before, name))
        else:
            yield (*before, name), found


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_command_is_met():
    assert {("data",), ("train",), ("score",), ("heads",), ("reproduce",), ("report",)} <= COMMANDS.keys()


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets no command begin long work, or reach for the network: the workers say that they were reached."""
    from whatwhere.errors import WhatwhereError

    def reached(*_: object, **__: object) -> Any:
        raise WhatwhereError("the work would begin now")

    home = tmp_path_factory.mktemp("home")
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        for work in (
            "whatwhere.training.loop.train",
            "whatwhere.studies.dynamics.checkpoints.score_run",
            "whatwhere.studies.theorems.measure.measure",
            "whatwhere.studies.mechanism.measure.measure",
            "whatwhere.studies.geometry.measure.measure_geometry",
            "whatwhere.studies.length.measure.measure_length",
            "whatwhere.work.stages.Work.run",
            "whatwhere.tasks.dataset.make_dataset",
            "whatwhere.trace.open.load_rotary",
            "whatwhere.studies.chat.measure.measure",
            "whatwhere.work.sweep.Sweep.run",
        ):
            patch.setattr(work, reached)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("COLUMNS", "100")
        os.chdir(home)
        yield
        os.chdir(before)


def value(parameter: Any) -> st.SearchStrategy[str]:
    """Words for an option: right, nearly right and absurd."""
    descriptor = getattr(parameter, "type_descriptor", None)
    kind = getattr(descriptor, "annotation", str)
    choices = [str(choice.value) for choice in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []
    known = st.sampled_from(choices) if choices else st.integers(-3, 40).map(str)
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
    return st.one_of(known, known, st.sampled_from(ODD), text)


@st.composite
def arguments(draw: st.DrawFn, words: tuple[str, ...]) -> list[str]:
    made: list[str] = list(words)
    for parameter in COMMANDS[words].params:
        if parameter.param_type_name == "argument":
            if draw(st.integers(0, 9)):
                made += [draw(st.one_of(st.sampled_from(["number", "letter"]), value(parameter)))]
        elif parameter.required or draw(st.integers(0, 3)) == 0:
            if parameter.name in ("help", "follow"):
                continue
            made.append(draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts])))
            if not getattr(parameter, "is_flag", False):
                made.append(
                    "out"
                    if parameter.name in ("out", "out_dir", "to") and draw(st.booleans())
                    else draw(value(parameter))
                )
    return made + ([draw(st.sampled_from(ODD))] if draw(st.integers(0, 7)) == 0 else [])


@pytest.mark.slow
@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_arguments_bring_a_traceback(words: tuple[str, ...], record_property: Callable[[str, object], None]):
    tried = 0

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(made=arguments(words))
    def check(made: list[str]) -> None:
        nonlocal tried
        tried += 1
        ended = command(*made)
        assert ended.code in CODES, (made, ended)
        assert "Traceback" not in ended.out + ended.err, (made, ended)

    check()
    record_property("figure", f"arguments of {' '.join(words)}: {tried} tried")
