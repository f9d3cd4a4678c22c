from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.results import fingerprint
from whatwhere.tasks import make_task
from whatwhere.training.presets import quick, smoke
from whatwhere.training.run import Run
from whatwhere.work.plan import Plan
from whatwhere.work.reproduce import computing_stages
from whatwhere.work.stages import Work
from whatwhere.zoo.load import load


def test_every_stage_comes_after_what_it_needs_and_leaves_files_of_its_own() -> None:
    done: set[str] = set()
    left: set[str] = set()
    for stage in computing_stages(Plan(seeds=2)):
        assert set(stage.needs) <= done
        assert not left & set(stage.leaves)
        done.add(stage.name)
        left |= set(stage.leaves)
    assert {"data", "theory"} < done
    assert {f"{kind}-{task}" for kind in ("train", "score", "mechanism", "geometry", "length")
            for task in ("number", "letter")} < done  # fmt: skip


def test_preset_and_seed_decide_the_trainings_and_not_the_theory() -> None:
    first, second = ({stage.name: stage.settings for stage in computing_stages(Plan("quick", seed))} for seed in (0, 1))
    assert first["train-number"] != second["train-number"]
    assert first["data"] != second["data"]
    assert first["theory"] == second["theory"]
    with pytest.raises(WhatwhereError, match="a preset"):
        computing_stages(Plan("huge"))


def test_another_run_is_never_touched(tmp_path: Path) -> None:
    Run(tmp_path / "letter").create(quick(make_task("letter")))
    work = Work(computing_stages(Plan("smoke")), tmp_path)
    with pytest.raises(WhatwhereError, match=r"holds another run .*Go on with --preset quick --seed 0"):
        work.run(work.choose([]))
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


@pytest.mark.slow
def test_a_run_that_was_begun_by_hand_on_another_machine_goes_on(tmp_path: Path) -> None:
    Run(tmp_path / "number").create(replace(smoke(make_task("number")), threads=1))
    work = Work(computing_stages(Plan("smoke")), tmp_path)
    work.run(work.choose(["train-number"]))
    assert Run(tmp_path / "number").config.threads == 1
    assert (tmp_path / "number" / "test.json").is_file()


def test_further_seeds_have_places_and_names_of_their_own() -> None:
    stages = {stage.name: stage for stage in computing_stages(Plan("smoke", seed=3, seeds=2))}
    assert stages["train-number"].settings["seed"] == 3
    assert stages["train-number-4"].settings["seed"] == 4
    assert stages["length-letter-4"].needs == ("train-letter-4",)
    assert stages["length-letter-4"].leaves[0] == "seeds/4/letter/length/*.csv"
    assert stages["length-letter-4"].group == "length"


def test_shipped_models_are_taken_with_their_history_and_nothing_is_trained(tmp_path: Path) -> None:
    work = Work(computing_stages(Plan("smoke", from_zoo=True)), tmp_path)
    assert not {"train", "score"} & {stage.group for stage in work.stages.values()}
    work.run(work.choose(["zoo"]))
    for task in ("number", "letter"):
        run = Run(tmp_path / task)
        assert run.steps() == [run.metrics()[-1]["step"]]
        assert run.scores_path.is_file()
        assert fingerprint(run.load()) == fingerprint(load(task))


def test_shipped_and_trained_models_are_not_mixed(tmp_path: Path) -> None:
    shipped = Work(computing_stages(Plan(from_zoo=True)), tmp_path)
    shipped.run(shipped.choose(["zoo"]))
    with pytest.raises(WhatwhereError, match="holds the shipped model, and a training was asked for"):
        Work(computing_stages(Plan()), tmp_path).run([])
    Run(tmp_path / "other" / "number").create(quick(make_task("number")))
    with pytest.raises(WhatwhereError, match="holds a run that was trained here"):
        Work(computing_stages(Plan(from_zoo=True)), tmp_path / "other").run([])
