"""Every file that the program reads, damaged in every way: it works as before, or says what is wrong."""

from __future__ import annotations

import json
import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from damage import WAYS
from harness import LONG, command, copy, no_figures, reader

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import write_csv
from whatwhere.tasks import make_task
from whatwhere.tasks.dataset import load_dataset
from whatwhere.work.stage import Stage
from whatwhere.work.stages import Work

MUTATIONS = 900 if LONG else 64
RECORDS = 50 if LONG else 16
REPORTS = 8 if LONG else 1
SPLITS = 100 if LONG else 16

READ_BY: dict[str, tuple[str, ...]] = {
    "config.json": ("train", "score", "heads", "geometry"),
    "metrics.csv": ("score", "train"),
    "scores.csv": ("score",),
    "test.json": ("train",),
    "checkpoints": ("heads", "score", "mechanism"),
    "resume": ("train",),
    "mechanism": ("mechanism",),
    "examples": ("mechanism",),
    "geometry": ("geometry",),
    "length": ("length",),
}
"""Which commands read a file, or the files of a directory."""


def readers_of(path: Path, run: Path) -> tuple[str, ...]:
    return READ_BY[path.relative_to(run).parts[0]]


def told(name: str, text: str) -> Any:
    """What a command says, but for the time and the place."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ("seconds", "directory", "scores")}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return "" if isinstance(value, str) and "/" in value else value

    found = plain(json.loads(text))
    if name == "length":  # results by the name of the model, which is a place
        return list(found["models"].values())
    return {key: value for key, value in found.items() if key != "model"}


@pytest.fixture(scope="module")
def undamaged(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each command says of the whole run; figures are left out meanwhile."""
    with no_figures():
        run = copy(finished, tmp_path_factory.mktemp("undamaged") / "run")
        yield {name: told(name, command(*reader(name, run)).out) for name in sorted({*sum(READ_BY.values(), ())})}


@pytest.mark.slow
def test_a_damaged_file_is_noticed_or_harmless(
    finished: Path,
    other: Path,
    undamaged: dict[str, Any],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
):
    rng = random.Random(20 if LONG else 7)
    files = [path.relative_to(finished) for path in sorted(finished.rglob("*")) if path.is_file()]
    files = [path for path in files if path.suffix in (".json", ".csv", ".safetensors")]
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(MUTATIONS):
        run = copy(finished, tmp_path / "run")
        path, way = rng.choice(files), list(WAYS)[number % len(WAYS)]
        WAYS[way](run / path, rng, other / path)
        readers = readers_of(run / path, run)
        if way == "edited":  # a person may well ask for a longer training
            readers = tuple(name for name in readers if name != "train") or readers
        name = rng.choice(readers)
        case = f"{number}: {path} {way}, then {name}"
        try:
            ended = command(*reader(name, run))
        except BaseException:
            wrong.append(f"{case}: {traceback.format_exc()}")
            continue
        if not ended.is_clear():
            wrong.append(f"{case}: exit code {ended.code}: {ended.err}")
        elif ended.code == 2:
            outcomes["refused"] += 1
        elif way == "edited":
            outcomes["taken as meant"] += 1
        elif told(name, ended.out) == undamaged[name]:
            outcomes["same result"] += 1
        elif "Taking the model of step" in ended.err:
            outcomes["an earlier model, with a warning"] += 1
        else:
            wrong.append(f"{case}: another result, silently")
    assert not wrong, f"{len(wrong)} of {MUTATIONS}:\n" + "\n".join(wrong[:20])
    said = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    record_property("figure", f"damaged files of a run: {MUTATIONS} mutations of {len(files)} files: {said}")


@pytest.mark.slow
def test_a_report_of_damaged_results_is_drawn_or_refused(
    finished: Path, other: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    rng = random.Random(5)
    files = [path.relative_to(finished) for path in sorted(finished.rglob("*")) if path.suffix in (".json", ".csv")]
    refused = 0
    for number in range(REPORTS):
        run = copy(finished, tmp_path / "run")
        path, way = rng.choice(files), list(WAYS)[number % len(WAYS)]
        WAYS[way](run / path, rng, other / path)
        ended = command("report", str(run))
        assert ended.is_clear(), (path, way, ended.err)
        refused += ended.code == 2
    record_property("figure", f"reports of damaged results: {REPORTS} mutations: {refused} refused")


def test_a_damaged_record_of_a_stage_is_noticed_or_harmless(
    tmp_path: Path, record_property: Callable[[str, object], None]
):
    def stage(name: str, *needs: str) -> Stage:
        def run(directory: Path, _: object) -> None:
            write_csv(directory / f"{name}.csv", ["name"], [[name]])

        return Stage(name, name, needs, (f"{name}.csv",), {"size": 1}, run)

    def results(directory: Path) -> list[str]:
        work = Work([stage("first"), stage("second", "first")], directory)
        work.run(list(work.stages.values()))
        return [path.read_text() for path in sorted(directory.glob("*.csv"))]

    rng, refused = random.Random(1), 0
    for name in ("whole", "another"):
        results(tmp_path / name)
    expected = results(tmp_path / "whole")
    for number in range(RECORDS):
        directory = copy(tmp_path / "whole", tmp_path / "damaged")
        path = rng.choice(sorted((directory / "stages").iterdir()))
        way = list(WAYS)[number % len(WAYS)]
        WAYS[way](path, rng, tmp_path / "another" / "stages" / path.name)
        try:
            assert results(directory) == expected, f"{path.name} {way}"
        except WhatwhereError:
            refused += 1
    record_property(
        "figure", f"damaged records of stages: {RECORDS} mutations: {refused} refused, the rest same result"
    )


def test_a_damaged_dataset_is_noticed_or_harmless(tmp_path: Path, record_property: Callable[[str, object], None]):
    rng = random.Random(3)
    for seed in (0, 1):
        make_task("letter").dataset(800, seed).save(tmp_path / str(seed))
    whole = load_dataset(tmp_path / "0").manifest()
    refused = same = 0
    for number in range(SPLITS):
        directory = copy(tmp_path / "0", tmp_path / "damaged")
        path = rng.choice(sorted(directory.iterdir()))
        way = list(WAYS)[number % len(WAYS)]
        WAYS[way](path, rng, tmp_path / "1" / path.name)
        try:
            found = load_dataset(directory).manifest()
        except WhatwhereError:
            refused += 1
            continue
        assert found["sha256"] == whole["sha256"], f"{path.name} {way}"
        same += 1
    record_property("figure", f"damaged datasets: {SPLITS} mutations: {refused} refused, {same} same result")
