"""SIGKILL at random moments: nothing that was written is lost, no half file is read, the end is the same."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import LONG, Zygote, copy

from whatwhere.store.storage import load_tensors, read_csv, read_json

WORK: dict[str, list[tuple[str, ...]]] = {
    "train": [("train", "number", "--out", "DIR/run", "--preset", "smoke", "--threads", "1", "--heads", "2")],
    "score": [("score", "DIR/run", "--inputs", "4000")],
    "reproduce": [
        ("reproduce", "--out", "DIR", "--preset", "smoke", "--workers", "1", *(
            word for stage in ("data", "train-number", "score-number", "geometry-number") for word in ("--only", stage)
        ))
    ],
    "sweep": [("sweep", "DIR/spec.toml", "--out", "DIR/sweep", "--workers", "1")],
}  # fmt: skip
"""What is killed, by name."""
KILLS = {"train": 35, "score": 25, "reproduce": 28, "sweep": 12} if LONG else {"train": 3, "score": 2, "reproduce": 2}
_OF_THE_CLOCK = {"seconds", "environment", "elapsed"}


def content(path: Path) -> object:
    """What a file says, but for times; reading it also proves that it is whole."""
    if path.suffix == ".safetensors":
        arrays, notes = load_tensors(path, "a file")
        if "state" in notes:  # its counters hold the time spent
            notes = {"state": without_times(json.loads(notes["state"]))}
        return {name: array.tobytes() for name, array in arrays.items()}, notes
    if path.suffix == ".json":
        return without_times(read_json(path, "a file"))
    if path.suffix == ".csv":
        return without_times(read_csv(path, "a file", []))
    raise AssertionError(path)


def without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in _OF_THE_CLOCK}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def tree(directory: Path) -> dict[str, object]:
    """Every result by the name of its file; without stage records, as their fingerprints cover times."""
    return {
        path.relative_to(directory).as_posix(): content(path)
        for path in sorted(directory.rglob("*"))
        if path.suffix in (".json", ".csv", ".safetensors") and path.name != "timing.csv"
        and path.parent.name not in ("stages", "resume")
    }  # fmt: skip


def words_for(work: str, directory: Path) -> list[str]:
    words = [word.replace("DIR", str(directory)) for word in WORK[work][0]]
    return [*words, "--resume"] if work == "train" and (directory / "run" / "config.json").exists() else words


def prepare(work: str, directory: Path, finished: Path) -> None:
    """What is there before the work."""
    if work == "sweep":
        directory.mkdir()
        (directory / "spec.toml").write_text('preset = "smoke"\ntask = "number"\nseed = [0, 1]\n')
    if work == "score":
        (copy(finished, directory / "run") / "scores.csv").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("work", KILLS)
def test_killed_again_and_again_it_ends_as_if_undisturbed(
    work: str, zygote: Zygote, finished: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    rng = random.Random(work)
    calm = tmp_path / "calm"
    prepare(work, calm, finished)
    began = time.perf_counter()
    assert zygote.run(words_for(work, calm)).code == 0
    whole = time.perf_counter() - began
    expected = tree(calm)
    kills = ends = 0
    while kills < KILLS[work]:
        directory = tmp_path / f"killed-{ends}"
        prepare(work, directory, finished)
        sitting = 0
        while True:
            sitting += 1
            # Sittings grow, so that the work ends some time; every tenth is killed at its very beginning.
            limit = 0.02 if kills % 10 == 9 else whole * min(0.3 + 0.05 * sitting, 1.2)
            began = time.perf_counter()
            ended = zygote.run(words_for(work, directory), kill_after=rng.uniform(0, limit))
            tree(directory)  # whatever is there is whole
            if ended.code == 0:
                if sitting == 1:  # the machine has become quicker: kill sooner
                    whole = min(whole, time.perf_counter() - began) / 2
                break
            assert ended.code == -9, ended.err
            kills += 1
            if kills >= KILLS[work]:
                assert zygote.run(words_for(work, directory)).code == 0
                break
        assert tree(directory) == expected
        ends += 1
        assert not list(directory.rglob("*.lock"))
    record_property("figure", f"{work}: {kills} kills survived over {ends} works, each equal to the undisturbed one")
