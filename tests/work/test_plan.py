from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies import STUDIES, study_named
from whatwhere.work.plan import Plan, choose, jobs_of


def test_every_job_comes_after_what_it_needs_and_has_a_place_of_its_own(tmp_path: Path):
    jobs = jobs_of(Plan(seeds=2), tmp_path)
    done: set[str] = set()
    for job in jobs:
        assert set(job.needs) <= done
        done.add(job.name)
    assert len({(job.arguments["directory"]) for job in jobs}) == len(jobs)
    of_runs = [name for name in STUDIES if study_named(name).subject.part == "run"]
    assert {f"{name}-{task}" for name in ("train", *of_runs) for task in ("number", "letter")} < done


def test_further_seeds_have_places_and_names_of_their_own(tmp_path: Path):
    jobs = {job.name: job for job in jobs_of(Plan("smoke", seed=3, seeds=2), tmp_path)}
    assert jobs["train-number"].arguments["config"]["seed"] == 3
    assert jobs["train-number-4"].arguments["config"]["seed"] == 4
    assert jobs["length-letter-4"].needs == ("train-letter-4",)
    assert jobs["length-letter-4"].arguments["directory"] == str(tmp_path / "seeds/4/letter/length")


def test_the_control_is_the_letter_task_on_leak_free_data_and_comes_with_preset_paper():
    paper = {run.label: run.config for run in Plan("paper").runs()}
    control = paper["letter-control"]
    assert control is not None
    assert control.task.to_dict()["generator"] == "decoy"
    assert [run.label for run in Plan("short").runs()] == ["number", "letter"]
    assert len(list(Plan("short", control=True).runs())) == 3


def test_a_study_may_have_settings_of_its_own_for_the_short_reproduction(tmp_path: Path):
    for preset, settings in (("short", study_named("dynamics").short), ("paper", {})):
        jobs = {job.name: job for job in jobs_of(Plan(preset), tmp_path)}
        assert jobs["dynamics-letter"].arguments["settings"] == settings
        assert jobs["geometry-letter"].arguments["settings"] == {}
    assert study_named("dynamics").short


def test_shipped_models_are_taken_and_nothing_is_trained(tmp_path: Path):
    jobs = {job.name: job for job in jobs_of(Plan(from_zoo=True), tmp_path)}
    assert {"zoo-number", "zoo-letter"} <= jobs.keys()
    assert "train" not in {job.group for job in jobs.values()}
    assert jobs["dynamics-number"].arguments["settings"]["inputs"] == 1200, "the results that ship are kept"
    assert jobs["mechanism-number"].arguments["settings"]["inputs"] == 600


def test_shipped_results_of_further_seeds_are_taken_and_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("whatwhere.zoo.take.further_seeds", lambda: ["seeds/11/number"])
    jobs = {job.name: job for job in jobs_of(Plan(from_zoo=True), tmp_path)}
    assert jobs["zoo-number-11"].arguments == {
        "directory": str(tmp_path / "seeds/11/number"), "name": "seeds/11/number"
    }  # fmt: skip
    assert [name for name in jobs if name.endswith("-11")] == ["zoo-number-11"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "huge"}, "expected a preset of"),
        ({"seeds": 0}, "expected 1 to 1,000 seeds, got 0"),
        ({"from_zoo": True, "seed": 1}, "expected no --preset, --seed"),
        ({"from_zoo": True, "preset": "paper"}, "expected no --preset"),
        ({"from_zoo": True, "control": False}, "--control beside it"),
    ],
)
def test_impossible_plans_are_refused(settings: dict[str, object], message: str):
    with pytest.raises(WhatwhereError, match=message):
        Plan(**settings)  # pyright: ignore[reportArgumentType]


def test_jobs_are_chosen_by_name_or_group(tmp_path: Path):
    jobs = jobs_of(Plan("smoke"), tmp_path)
    assert [job.name for job in choose(jobs, ["train", "length-number"])] == [
        "train-number", "train-letter", "length-number",
    ]  # fmt: skip
    assert choose(jobs, []) == jobs
    with pytest.raises(WhatwhereError, match=r"--only: expected a job or a group of .*, got 'trian'"):
        choose(jobs, ["trian"])
