from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.experiments.reproduce import computing_stages
from whatwhere.experiments.stages import Work
from whatwhere.tasks import make_task
from whatwhere.training.presets import quick, smoke
from whatwhere.training.run import Run


def test_every_stage_comes_after_what_it_needs_and_leaves_files_of_its_own() -> None:
    done: set[str] = set()
    left: set[str] = set()
    for stage in computing_stages():
        assert set(stage.needs) <= done
        assert not left & set(stage.leaves)
        done.add(stage.name)
        left |= set(stage.leaves)
    assert {"data", "theory"} < done
    assert {f"{kind}-{task}" for kind in ("train", "score", "mechanism", "geometry", "length")
            for task in ("number", "letter")} < done  # fmt: skip


def test_preset_and_seed_decide_the_trainings_and_not_the_theory() -> None:
    first, second = ({stage.name: stage.settings for stage in computing_stages("quick", seed)} for seed in (0, 1))
    assert first["train-number"] != second["train-number"]
    assert first["data"] != second["data"]
    assert first["theory"] == second["theory"]
    with pytest.raises(WhatwhereError, match="a preset"):
        computing_stages("huge")


def test_another_run_is_never_touched(tmp_path: Path) -> None:
    Run(tmp_path / "letter").create(quick(make_task("letter")))
    work = Work(computing_stages("smoke"), tmp_path)
    with pytest.raises(WhatwhereError, match=r"holds another run .*Go on with --preset quick --seed 0"):
        work.run(work.choose([]))
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


@pytest.mark.slow
def test_a_run_that_was_begun_by_hand_on_another_machine_goes_on(tmp_path: Path) -> None:
    Run(tmp_path / "number").create(replace(smoke(make_task("number")), threads=1))
    work = Work(computing_stages("smoke"), tmp_path)
    work.run(work.choose(["train-number"]))
    assert Run(tmp_path / "number").config.threads == 1
    assert (tmp_path / "number" / "test.json").is_file()
