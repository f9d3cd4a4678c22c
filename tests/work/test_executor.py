from pathlib import Path
from typing import Any

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.work.executor import Job, ThisProcess, run_jobs

pytestmark = pytest.mark.usefixtures("toys")


def write(directory: Path, name: str, *needs: str) -> Job:
    return Job(name, name, "toy_jobs:write", {"directory": str(directory), "name": name}, needs)


def test_jobs_run_after_what_they_need_and_return_their_results(tmp_path: Path):
    order: list[tuple[str, str]] = []
    jobs = [write(tmp_path, "c", "a", "b"), write(tmp_path, "a"), write(tmp_path, "b", "a", "elsewhere")]
    done = run_jobs(jobs, ThisProcess(), lambda job, event, _: order.append((job.name, event)))
    assert done == {"a": "a", "b": "b", "c": "c"}
    assert [name for name, event in order if event == "begun"] == ["a", "b", "c"]


def test_progress_names_the_job(tmp_path: Path):
    told: list[tuple[str, str, int, int]] = []
    run_jobs([write(tmp_path, "a")], ThisProcess(lambda *about: told.append(about)))
    assert told == [("a", "writing", 0, 1)]


def test_a_users_mistake_is_raised_with_the_name_of_the_job_and_a_defect_with_its_traceback(tmp_path: Path):
    with pytest.raises(WhatwhereError, match=r"^x: .*not like this"):
        run_jobs([Job("x", "", "toy_jobs:refuse"), write(tmp_path, "a", "x")], ThisProcess())
    with pytest.raises(RuntimeError, match=r"(?s)y failed:.*ZeroDivisionError"):
        run_jobs([Job("y", "", "toy_jobs:fail")], ThisProcess())
    assert not list(tmp_path.iterdir())


def test_others_go_on_when_they_may_and_dependents_of_a_failed_job_are_skipped(tmp_path: Path):
    events: list[tuple[str, str, Any]] = []
    jobs = [Job("x", "", "toy_jobs:refuse"), write(tmp_path, "after", "x"), write(tmp_path, "other")]
    done = run_jobs(jobs, ThisProcess(), lambda job, *about: events.append((job.name, *about)), keep_going=True)
    assert done == {"other": "other"}
    assert ("x", "failed", "not like this") in events
    assert ("after", "skipped", "x failed") in events


def test_a_failed_job_is_tried_again(tmp_path: Path):
    events: list[str] = []
    job = Job("x", "", "toy_jobs:second_time", {"directory": str(tmp_path)})
    assert run_jobs([job], ThisProcess(), lambda _job, event, _: events.append(event), retries=1) == {"x": "done"}
    assert events == ["begun", "again", "begun", "done"]


def test_the_group_of_a_job_is_the_first_part_of_its_name():
    assert Job("train-number", "", "").group == "train"
