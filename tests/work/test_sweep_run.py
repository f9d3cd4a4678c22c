import shutil
from pathlib import Path

import pandas as pd
import pytest

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.store.manifest import Manifest
from whatwhere.training.run import Run
from whatwhere.work.executor import Job, Outcome, ThisProcess
from whatwhere.work.jobs import open_or_create
from whatwhere.work.sweep_run import TABLE, Sweep
from whatwhere.work.sweep_spec import Item, read_sweep

SPEC = 'preset = "smoke"\ntask = "letter"\nseed = [0, 1]\n[measure.dynamics]\ninputs = 4\n'


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    (tmp_path / "sweep.toml").write_text(SPEC)
    return read_sweep(tmp_path / "sweep.toml")


def done_items(sweep: Sweep) -> list[str]:
    names: list[str] = []
    sweep.run(ThisProcess(), 0, lambda job, event, _: names.append(job.name) if event == "begun" else None)
    return names


@pytest.mark.slow
def test_what_is_done_is_skipped_and_what_is_damaged_or_changed_is_done_again(tmp_path: Path, items: list[Item]):
    out = tmp_path / "out"
    assert done_items(Sweep(items, out)) == ["letter-seed0", "letter-seed1"]
    assert done_items(Sweep(items, out)) == []
    table = Sweep(items, out).collect()
    assert table["status"].tolist() == ["done", "done"]
    assert table["steps"].tolist() == [24, 24]
    scores = out / "items" / "letter-seed1" / "dynamics" / "scores.csv"
    scores.write_text(scores.read_text().replace("0", "1", 5))
    assert Sweep(items, out).collect()["status"].tolist() == ["done", "waiting"]
    shutil.rmtree(scores.parent)
    assert done_items(Sweep(items, out)) == ["letter-seed1"]
    changed = [Item(item.name, item.settings, {"dynamics": {"inputs": 8}}, item.config) for item in items]
    assert done_items(Sweep(changed, out)) == ["letter-seed0", "letter-seed1"]
    assert Manifest(scores.parent).record.settings["inputs"] == 8


def test_another_run_of_the_name_is_refused(tmp_path: Path, items: list[Item]):
    config = items[1].training
    assert config is not None
    open_or_create(tmp_path / "out" / "items" / items[0].name, config)
    with pytest.raises(
        WhatwhereError, match=r"expected a run with preset 'smoke' and seed 0, got another one .*seed 1"
    ):
        Sweep(items, tmp_path / "out").check()
    Sweep(items[1:], tmp_path / "out").check()


@pytest.mark.slow
def test_models_that_are_there_are_measured_as_they_are(tmp_path: Path):
    item = Item("shipped", {"model": "letter"}, {"length": {"inputs": 16, "lengths": (33,)}})
    sweep = Sweep([item], tmp_path)
    assert done_items(sweep) == ["shipped"]
    table = sweep.collect()
    assert table["status"].tolist() == ["done"]
    assert any(str(column).startswith("length_") for column in table)
    assert not Run(tmp_path / "items" / "shipped").exists


@pytest.mark.slow
def test_a_model_that_changed_since_is_measured_again(tmp_path: Path):
    file, item = tmp_path / "model.safetensors", {"length": {"inputs": 16, "lengths": (33,), "varied_lengths": ()}}
    found = []
    for name in ("letter", "letter-control", "letter-control"):
        model = ww.load(name)
        assert isinstance(model, GPTJ)
        save_model(file, model)
        sweep = Sweep([Item("mine", {"model": str(file)}, item)], tmp_path / "out")
        sweep.run(ThisProcess(), 0)
        found.append(Manifest(tmp_path / "out/items/mine/length").record)
    assert found[0].inputs["model"] != found[1].inputs["model"]
    assert found[1] == found[2], "what is up to date is kept"


def test_the_table_of_a_sweep_is_there_before_its_end(tmp_path: Path):
    items = [Item(name, {"model": name}, {"heads": {}}) for name in ("one", "two")]
    sweep, seen = Sweep(items, tmp_path), []

    class Failing(ThisProcess):
        def next(self) -> Outcome:
            assert self._job is not None
            name, self._job = self._job.name, None
            return Outcome(name, problem="it broke")

    def look(_job: Job, event: str, _about: object) -> None:
        if event == "failed" and (tmp_path / TABLE).exists():
            seen.append(pd.read_csv(tmp_path / TABLE)["status"].tolist())

    sweep.run(Failing(), 0, look)
    assert seen == [["failed", "waiting"]]
