"""Jobs and executors: this process, worker processes of this machine, or a Ray cluster.

A job names a function and its arguments, so that any process on any machine can run it. Its files on disk are written
atomically and record whether they are up to date, so a job that was stopped or killed runs again and continues.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from whatwhere.errors import WhatwhereError
from whatwhere.studies.study import Progress, resolve

JobProgress = Callable[[str, str, int, int], None]
"""Callback: name of the job, what it is doing, how much is done, and the total."""


@dataclass(frozen=True)
class Job:
    """One piece of work."""

    name: str
    title: str
    """What it does, for messages."""
    call: str | Callable[..., Any]
    """``module:function``, called with ``progress`` and the arguments; a function object runs in this process only."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """JSON values."""
    needs: tuple[str, ...] = ()
    """The jobs that must finish before it."""
    gpu: bool = False

    @property
    def group(self) -> str:
        """``train`` for ``train-number``: jobs that can be chosen together."""
        return self.name.partition("-")[0]

    def do(self, progress: Progress) -> Any:
        """Does the work in this process."""
        return resolve(self.call)(progress=progress, **self.arguments)


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    job: str
    result: Any = None
    problem: str = ""
    """The error message; empty on success."""
    defect: bool = False
    """Whether it is a bug rather than a user's mistake."""


def attempt(job: Job, progress: Progress) -> Outcome:
    """Runs a job and reports how it ended; stop requests pass through."""
    try:
        return Outcome(job.name, job.do(progress))
    except WhatwhereError as error:
        return Outcome(job.name, problem=str(error))
    except Exception:
        return Outcome(job.name, problem=traceback.format_exc(), defect=True)


@runtime_checkable
class Executor(Protocol):
    """Runs jobs, some of them in parallel."""

    @property
    def free_slots(self) -> float:
        """How many more jobs can begin now."""
        ...

    def begin(self, job: Job) -> None:
        """Starts a job."""

    def next(self) -> Outcome:
        """Waits until a job ends."""
        ...

    def stop(self) -> None:
        """Ends all work; trainings save their state first."""


class ThisProcess:
    """One job after the other, here."""

    def __init__(self, progress: JobProgress = lambda _job, _what, _done, _total: None) -> None:
        self._progress = progress
        self._job: Job | None = None

    @property
    def free_slots(self) -> float:
        """One job at a time."""
        return 0 if self._job is not None else 1

    def begin(self, job: Job) -> None:
        """Takes on a job."""
        self._job = job

    def next(self) -> Outcome:
        """Runs it."""
        job = self._job
        assert job is not None, "no job was begun"
        self._job = None
        return attempt(job, lambda what, done, total: self._progress(job.name, what, done, total))

    def stop(self) -> None:
        """Nothing to do."""


Event = Literal["begun", "done", "again", "failed", "skipped"]
Observer = Callable[[Job, Event, Any], None]
"""Callback for events of a job: begun, done (with the result), again or failed (with the error), or skipped."""


def run_jobs(
    jobs: Sequence[Job],
    executor: Executor,
    observer: Observer = lambda _job, _event, _about: None,
    *,
    retries: int = 0,
    keep_going: bool = False,
) -> dict[str, Any]:
    """Runs jobs, each after those that it needs.

    They start in the given order; needed jobs that are not among them count as done. A failed job is retried
    ``retries`` times; then the others continue (``keep_going``) or its error is raised: a RuntimeError for a bug.

    Returns:
        The result of each job that succeeded.
    """
    waiting = deque(jobs)
    known = {job.name: job for job in jobs}
    tries: dict[str, int] = dict.fromkeys(known, 0)
    results: dict[str, Any] = {}
    failed: set[str] = set()
    running: set[str] = set()
    while waiting or running:
        for job in list(waiting):
            if executor.free_slots < 1:
                break
            needed = set(job.needs) & known.keys()
            if needed & failed:
                waiting.remove(job)
                failed.add(job.name)
                observer(job, "skipped", f"{sorted(needed & failed)[0]} failed")
            elif needed <= results.keys():
                waiting.remove(job)
                running.add(job.name)
                tries[job.name] += 1
                observer(job, "begun", None)
                executor.begin(job)
        if not running:
            break
        outcome = executor.next()
        job = known[outcome.job]
        running.discard(job.name)
        if not outcome.problem:
            results[job.name] = outcome.result
            observer(job, "done", outcome.result)
        elif tries[job.name] <= retries:
            waiting.append(job)
            observer(job, "again", outcome.problem)
        elif keep_going:
            failed.add(job.name)
            observer(job, "failed", outcome.problem)
        elif outcome.defect:
            raise RuntimeError(f"{job.name} failed:\n{outcome.problem}")
        else:
            raise WhatwhereError(f"{job.name}: {outcome.problem}")
    return results
