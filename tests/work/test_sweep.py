"""The sweep with workers that only pretend; real ones are in test_sweep_workers.py."""

import csv
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.work.sweep import Sweep
from whatwhere.work.sweep_item import prepared
from whatwhere.work.sweep_spec import Item, Measures, read_sweep
from whatwhere.work.sweep_workers import Answer


class Pretending:
    """Workers whose items succeed at the given attempt; 0 is never."""

    def __init__(self, succeed_at: dict[str, int] | None = None, room: int = 2) -> None:
        self.succeed_at = succeed_at or {}
        self.most = room
        self.begun: list[tuple[str, int]] = []
        self.running: deque[tuple[Item, int]] = deque()

    @property
    def room(self) -> float:
        return self.most - len(self.running)

    def begin(self, item: Item, attempt: int) -> None:
        self.begun.append((item.name, attempt))
        self.running.append((item, attempt))
        assert len(self.running) <= self.most

    def next(self) -> Answer:
        item, attempt = self.running.popleft()
        if self.succeed_at.get(item.name, 1) == attempt:
            heads = [{"layer": 0, "head": 0, "positional": 0.5, "symbolic": float("nan")}]
            return item, {"row": {"accuracy": 0.25, "half_length": float("inf")}, "heads": heads}, ""
        return item, None, f"attempt {attempt} of {item.name} broke"

    def stop(self) -> None:
        pass


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    (tmp_path / "sweep.toml").write_text('preset = "smoke"\ntask = ["number", "letter"]\nseed = [0, 1]')
    return read_sweep(tmp_path / "sweep.toml")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_every_item_ends_once_in_the_table(tmp_path: Path, items: list[Item]):
    workers, seen = Pretending(), []
    Sweep(items, tmp_path / "out").run(workers, 2, lambda item, event, _: seen.append((item.name, event)))
    rows = table(tmp_path / "out" / "sweep.csv")
    assert [row["item"] for row in rows] == [item.name for item in items]
    assert {row["status"] for row in rows} == {"done"}
    assert [(row["task"], row["seed"], row["accuracy"]) for row in rows[:2]] == [
        ("number", "0", "0.25"),
        ("number", "1", "0.25"),
    ]
    assert seen == [(item.name, "done") for item in items]
    heads = table(tmp_path / "out" / "heads.csv")
    assert [(row["item"], row["positional"], row["symbolic"]) for row in heads[:1]] == [("number-seed0", "0.5", "")]


def test_a_failed_item_is_tried_again_and_then_reported_while_the_rest_goes_on(tmp_path: Path, items: list[Item]):
    workers = Pretending({"number-seed0": 3, "letter-seed0": 0})
    events: list[tuple[str, str, str]] = []
    work = Sweep(items, tmp_path / "out")
    work.run(workers, 2, lambda item, event, why: events.append((item.name, event, why)))
    assert workers.begun.count(("letter-seed0", 3)) == 1
    assert ("letter-seed0", 4) not in workers.begun
    rows = {row["item"]: row for row in table(tmp_path / "out" / "sweep.csv")}
    assert {name: row["status"] for name, row in rows.items()} == {
        "number-seed0": "done", "number-seed1": "done", "letter-seed0": "failed", "letter-seed1": "done",
    }  # fmt: skip
    assert rows["letter-seed0"]["problem"] == "attempt 3 of letter-seed0 broke"
    assert ("number-seed0", "again", "attempt 2 of number-seed0 broke") in events
    assert ("letter-seed0", "failed", "attempt 3 of letter-seed0 broke") in events


def test_what_is_done_is_kept_and_what_failed_or_changed_is_done_again(tmp_path: Path, items: list[Item]):
    out = tmp_path / "out"
    Sweep(items, out).run(Pretending({"letter-seed1": 0}), 0)
    assert [item.name for item in Sweep(items, out).waiting()] == ["letter-seed1"]
    (out / "items" / "number-seed1" / "result.json").write_text("{half")
    workers = Pretending()
    again = Sweep(items, out)
    again.run(workers, 0)
    assert sorted(name for name, _ in workers.begun) == ["letter-seed1", "number-seed1"]
    assert {row["status"] for row in again.collect()} == {"done"}
    changed = [Item(item.name, item.settings, Measures(scores=8), item.config) for item in items]
    assert len(Sweep(changed, out).waiting()) == 4


def test_a_directory_with_another_run_of_the_name_is_refused_before_anything_is_done(tmp_path: Path, items: list[Item]):
    out = tmp_path / "out"
    directory = out / "items" / items[0].name
    prepared(directory, items[3])
    with pytest.raises(WhatwhereError, match=r"holds another run than the sweep asks for.*Choose another --out"):
        Sweep(items, out).check()
    Sweep(items[1:], out).check()


def test_numbers_that_json_lacks_survive(tmp_path: Path, items: list[Item]):
    out = tmp_path / "out"
    Sweep(items[:1], out).run(Pretending(), 0)
    result: dict[str, Any] | None = Sweep(items[:1], out).result(items[0])
    assert result is not None
    assert result["row"]["half_length"] == float("inf")
