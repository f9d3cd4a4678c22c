"""SIGKILL at any moment: nothing that was written is lost, no half file is read, the end is the same."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import LONG, Zygote, contents, copy

Record = Callable[[str, object], None]
_JOBS = ("--only", "train-number", "--only", "dynamics-number", "--only", "length-number")
WORK: dict[str, tuple[str, ...]] = {
    "train": ("train", "number", "--out", "DIR/run", "--preset", "smoke", "--threads", "1", "--heads", "2"),
    "dynamics": ("dynamics", "DIR/run", "--inputs", "200", "--readings", "3", "--json"),
    "length": ("length", "DIR/run", "--inputs", "200", "--lengths", "9,12,20", "--varied-lengths", "9,12", "--json"),
    "reproduce": ("reproduce", "--out", "DIR", "--preset", "smoke", "--workers", "1", *_JOBS),
    "reproduce with workers": ("reproduce", "--out", "DIR", "--preset", "smoke", "--workers", "2", *_JOBS),
    "sweep": ("sweep", "DIR/spec.toml", "--out", "DIR/sweep", "--workers", "1"),
}
"""What is killed, by name."""
_LONG_KILLS = {"train": 30, "dynamics": 20, "length": 15, "reproduce": 20, "reproduce with workers": 5, "sweep": 10}
KILLS = _LONG_KILLS if LONG else {"train": 2, "dynamics": 2, "reproduce": 1, "sweep": 1}
RENAMES = {"train": None, "dynamics": None, "reproduce": None} if LONG else {"train": 5, "dynamics": 3}
"""At how many of the renames of a work it is killed; None for all."""
_SPEC = 'preset = "smoke"\ntask = "number"\nseed = [0, 1]\n[measure.dynamics]\ninputs = 8\nreadings = 2\n'


def words_for(work: str, directory: Path) -> list[str]:
    words = [word.replace("DIR", str(directory)) for word in WORK[work]]
    return [*words, "--resume"] if work == "train" and (directory / "run" / "config.json").exists() else words


def prepare(work: str, directory: Path, finished: Path) -> None:
    """What is there before the work."""
    if work == "sweep":
        directory.mkdir()
        (directory / "spec.toml").write_text(_SPEC)
    if work in ("dynamics", "length"):
        shutil.rmtree(copy(finished, directory / "run") / work)


@pytest.mark.slow
@pytest.mark.parametrize("work", KILLS)
def test_killed_again_and_again_it_ends_as_if_undisturbed(
    work: str, zygote: Zygote, finished: Path, tmp_path: Path, record_property: Record
):
    rng = random.Random(work)
    calm = tmp_path / "calm"
    prepare(work, calm, finished)
    began = time.perf_counter()
    ended = zygote.run(words_for(work, calm), figures=LONG)
    assert ended.code == 0, ended.err
    whole = time.perf_counter() - began
    expected = contents(calm)
    kills = ends = 0
    while kills < KILLS[work]:
        directory = tmp_path / f"killed-{ends}"
        prepare(work, directory, finished)
        session = 0
        while True:
            session += 1
            # Sittings grow, so that the work ends some time; every tenth is killed at its very beginning.
            limit = 0.02 if kills % 10 == 9 else whole * min(0.3 + 0.05 * session, 1.2)
            began = time.perf_counter()
            ended = zygote.run(words_for(work, directory), kill_after=rng.uniform(0, limit), figures=LONG)
            contents(directory)  # whatever is there is whole
            if ended.code == 0:
                if session == 1:  # the machine has become quicker: kill sooner
                    whole = min(whole, time.perf_counter() - began) / 2
                break
            assert ended.code == -9, ended.err
            kills += 1
            if kills >= KILLS[work]:
                ended = zygote.run(words_for(work, directory), figures=LONG)
                assert ended.code == 0, ended.err
                break
        assert contents(directory) == expected
        assert not list(directory.rglob("*.partial"))
        ends += 1
    record_property("figure", f"{work}: {kills} kills survived over {ends} works, each equal to the undisturbed one")


@pytest.mark.slow
@pytest.mark.parametrize("work", RENAMES)
def test_killed_just_before_or_after_a_file_gets_its_name_it_ends_as_if_undisturbed(
    work: str, zygote: Zygote, finished: Path, tmp_path: Path, record_property: Record
):
    """Every moment that matters is beside a rename: files appear by it and by nothing else."""
    calm, most = tmp_path / "calm", RENAMES[work]
    prepare(work, calm, finished)
    assert zygote.run(words_for(work, calm)).code == 0
    expected = contents(calm)
    # The first renames take the directory, which is where a half-begun work could block the next one.
    numbers = range(1, 500) if most is None else [1, 2, *random.Random(work).sample(range(3, 12), most - 2)]
    kills = 0
    for number in numbers:
        directory = tmp_path / f"killed-{number}"
        prepare(work, directory, finished)
        after = number % 2 == 0
        ended = zygote.run(words_for(work, directory), rename=[number, after])
        if ended.code == 0:  # it has fewer renames
            break
        assert ended.code == -9, ended.err
        contents(directory)
        kills += 1
        ended = zygote.run(words_for(work, directory))
        assert ended.code == 0, (number, ended.err)
        assert contents(directory) == expected, number
        assert not list(directory.rglob("*.partial")), number
        shutil.rmtree(directory)
    record_property("figure", f"{work}: killed at {kills} renames, each time equal to the undisturbed one")
