"""Every file that the program reads, with every kind of damage: it works as before, or says what is wrong."""

from __future__ import annotations

import json
import math
import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from damage import DAMAGE
from harness import LONG, READERS, command, copy, no_figures, reader

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import make_task
from whatwhere.tasks.dataset import load_dataset

MUTATIONS = 800 if LONG else 60
REPORTS = 100 if LONG else 10
SPLITS = 100 if LONG else 20
Record = Callable[[str, object], None]

READ_BY: dict[str, tuple[str, ...]] = {
    "config.json": ("train", "dynamics", "heads", "geometry"),
    "manifest.json": ("train", "dynamics", "heads", "length"),
    "metrics.csv": ("dynamics", "train"),
    "test.csv": ("train",),
    "checkpoints": ("heads", "dynamics", "mechanism"),
    "resume": ("train",),
}
"""Which commands read a file of a run, or the files of a directory; a study reads its own folder."""


def readers_of(path: Path) -> tuple[str, ...]:
    return READ_BY.get(path.parts[0], (path.parts[0],))


def printed(text: str) -> Any:
    """What a command prints, but for the time and the place."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ("seconds", "directory", "run")}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return "" if isinstance(value, str) and "/" in value else value

    found = plain(json.loads(text))
    return [value for key, value in found.items() if "/" in key] or found  # results stand under the run's place


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal up to the ten digits that tables keep."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file is read again without a pause, in which another process might have ended writing it."""
    monkeypatch.setattr("whatwhere.store.manifest._PAUSE", 0)


@pytest.fixture(scope="module")
def undamaged(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each command prints of the whole run; figures are left out meanwhile."""
    with no_figures():
        run = copy(finished, tmp_path_factory.mktemp("undamaged") / "run")
        yield {name: printed(command(*reader(name, run)).out) for name in READERS}


def files_of(directory: Path) -> list[Path]:
    found = [path.relative_to(directory) for path in sorted(directory.rglob("*")) if path.is_file()]
    return [path for path in found if path.suffix in (".json", ".csv", ".safetensors")]


@pytest.mark.slow
def test_a_damaged_file_is_noticed_or_harmless(
    finished: Path, other: Path, undamaged: dict[str, Any], tmp_path: Path, record_property: Record
):
    rng = random.Random(20 if LONG else 7)
    files = files_of(finished)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(MUTATIONS):
        run = copy(finished, tmp_path / "run")
        path, kind = rng.choice(files), list(DAMAGE)[number % len(DAMAGE)]
        name = rng.choice(readers_of(path))
        case = f"{number}: {path} {kind}, then {name}"
        DAMAGE[kind](run / path, rng, other / path)
        try:
            ended = command(*reader(name, run))
        except BaseException:
            wrong.append(f"{case}: {traceback.format_exc()}")
            continue
        if not ended.is_clear:
            wrong.append(f"{case}: exit code {ended.code}: {ended.err}")
        elif ended.code == 2:
            outcomes["refused"] += 1
        elif same(printed(ended.out), undamaged[name]):
            outcomes["same result"] += 1
        elif "Taking the model of step" in ended.err:
            outcomes["an earlier model, with a warning"] += 1
        elif kind == "forged" or (kind == "edited" and path.suffix == ".safetensors"):  # with the checksums it needs
            outcomes["taken as meant"] += 1
        else:
            wrong.append(f"{case}: another result, silently")
    assert not wrong, f"{len(wrong)} of {MUTATIONS}:\n" + "\n".join(wrong[:20])
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    record_property("figure", f"damaged files of a run: {MUTATIONS} mutations of {len(files)} files: {counts}")


@pytest.mark.slow
def test_a_report_of_damaged_results_has_the_same_verdicts_or_is_refused(
    finished: Path, other: Path, tmp_path: Path, record_property: Record, monkeypatch: pytest.MonkeyPatch
):
    """Results that are gone leave a claim untested; none may turn from holding to failing, or back."""
    monkeypatch.setattr("whatwhere.work.reporting.draw", lambda *_, **__: [])
    for name, seed in (("whole", other), ("another", finished)):
        copy(finished if name == "whole" else other, tmp_path / name / "number")
        copy(seed, tmp_path / name / "seeds" / "1" / "number")
    with no_figures():
        theory = command("theorems", "--inputs", "20", "--out", str(tmp_path / "whole"))
    assert theory.code == 0, theory.err
    copy(tmp_path / "whole" / "theorems", tmp_path / "another" / "theorems")

    def verdicts(directory: Path) -> dict[str, str] | None:
        ended = command("report", str(directory), "--json")
        assert ended.is_clear, ended.err
        return None if ended.code else {one["id"]: one["verdict"] for one in json.loads(ended.out)["claims"]}

    expected = verdicts(tmp_path / "whole")
    assert expected is not None and set(expected.values()) > {"not tested"}
    rng, files, outcomes = random.Random(5), files_of(tmp_path / "whole"), Counter[str]()
    for number in range(REPORTS):
        directory = copy(tmp_path / "whole", tmp_path / "damaged")
        path, kind = rng.choice(files), list(DAMAGE)[number % len(DAMAGE)]
        DAMAGE[kind](directory / path, rng, tmp_path / "another" / path)
        found = verdicts(directory)
        outcomes["refused" if found is None else "same verdicts" if found == expected else "some not tested"] += 1
        if found is not None and kind != "forged":
            changed = {name: was for name, was in found.items() if was not in (expected[name], "not tested")}
            assert not changed, (path, kind, changed)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    record_property("figure", f"reports of damaged results: {REPORTS} mutations: {counts}")


def test_a_damaged_dataset_is_noticed_or_harmless(tmp_path: Path, record_property: Record):
    rng = random.Random(3)
    for seed in (0, 1):
        make_task("letter").dataset(800, seed).save(tmp_path / str(seed))
    whole = load_dataset(tmp_path / "0").manifest()
    outcomes: Counter[str] = Counter()
    kinds = [kind for kind in DAMAGE if kind not in ("newer", "forged")]  # its manifest has no format and no checksum
    for number in range(SPLITS):
        directory = copy(tmp_path / "0", tmp_path / "damaged")
        path, kind = rng.choice(sorted(directory.iterdir())), kinds[number % len(kinds)]
        DAMAGE[kind](path, rng, tmp_path / "1" / path.name)
        try:
            found = load_dataset(directory).manifest()
        except WhatwhereError:
            outcomes["refused"] += 1
            continue
        assert found["sha256"] == whole["sha256"], f"{path.name} {kind}"
        outcomes["same result"] += 1
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    record_property("figure", f"damaged datasets: {SPLITS} mutations: {counts}")
