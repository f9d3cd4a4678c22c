import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.work.executor import Job, run_jobs
from whatwhere.work.processes import WorkerProcesses

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("toys")]  # each worker imports torch


def pair(directory: Path, other: str = "b") -> list[Job]:
    about = {"directory": str(directory)}
    return [
        Job("join-a", "", "toy_jobs:join", {**about, "name": "a", "other": other}),
        Job("join-b", "", "toy_jobs:join", {**about, "name": "b", "other": "a"}),
        Job("last", "", "toy_jobs:write", {**about, "name": "last"}, ("join-a", "join-b")),
    ]


@pytest.fixture(scope="module")
def told() -> list[tuple[str, str, int, int]]:
    """What was told of the progress of jobs."""
    return []


@pytest.fixture(scope="module")
def workers(told: list[tuple[str, str, int, int]]) -> Iterator[WorkerProcesses]:
    """Two processes for all tests here: each takes seconds to start."""
    made = WorkerProcesses(2, threads=1, progress=lambda *about: told.append(about))
    yield made
    made.stop()


def test_jobs_run_in_parallel_in_processes_with_their_own_threads(
    workers: WorkerProcesses, told: list[tuple[str, str, int, int]], tmp_path: Path
):
    assert run_jobs(pair(tmp_path), workers) == {"join-a": "a", "join-b": "b", "last": "last"}
    (first, threads), (second, _) = ((tmp_path / name).read_text().split() for name in "ab")
    assert len({first, second, str(os.getpid())}) == 3
    assert threads == "1"
    assert ("join-a", "waiting", 1, 2) in told


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        ("refuse", WhatwhereError, "not like this"),
        ("fail", RuntimeError, "x failed:\n.*ZeroDivisionError"),
        ("die", WhatwhereError, r"the process of x was killed or memory ran out \(exit code -9\)"),
    ],
)
def test_how_a_job_ended_reaches_the_caller(workers: WorkerProcesses, call: str, error: type[Exception], match: str):
    with pytest.raises(error, match=f"(?s){match}"):
        run_jobs([Job("x", "", f"toy_jobs:{call}")], workers)


def test_a_killed_worker_is_replaced_and_its_job_tried_again(workers: WorkerProcesses, tmp_path: Path):
    jobs = [Job("x", "", "toy_jobs:die"), *pair(tmp_path)]
    events: list[tuple[str, str]] = []
    done = run_jobs(jobs, workers, lambda job, event, _: events.append((job.name, event)), retries=1, keep_going=True)
    assert sorted(done) == ["join-a", "join-b", "last"]
    assert [event for name, event in events if name == "x"] == ["begun", "again", "begun", "failed"]


def test_workers_end_with_the_process_that_started_them(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from whatwhere.work.executor import Job, run_jobs;"
        "from whatwhere.work.processes import WorkerProcesses\n"
        "if __name__ == '__main__':\n"
        "    about = {'directory': sys.argv[1], 'name': 'a', 'other': 'nobody'}\n"
        "    run_jobs([Job('x', '', 'toy_jobs:join', about)], WorkerProcesses(1))\n"
    )
    (tmp_path / "parent.py").write_text(code)
    seen = tmp_path / "a"
    parent = subprocess.Popen([sys.executable, tmp_path / "parent.py", tmp_path])
    until = time.monotonic() + 300
    try:
        while not (seen.exists() and seen.read_text()):
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    worker = int(seen.read_text().split()[0])
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
