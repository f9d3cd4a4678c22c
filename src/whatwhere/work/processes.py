"""Worker processes of this machine.

Two single-threaded trainings in parallel use two cores better than one training with two threads, and so does every
study. A worker ends when the process that started it ends, even if that is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from whatwhere.training.interrupt import Interrupted
from whatwhere.work.executor import Job, JobProgress, Outcome, attempt

_PATIENCE = 60.0
"""Seconds that a worker has to save its state after a stop request."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Any
    job: Job | None = None


class WorkerProcesses:
    """An executor of processes with some CPU threads each; see :class:`~whatwhere.work.executor.Executor`."""

    def __init__(
        self, count: int, threads: int = 1, progress: JobProgress = lambda _job, _what, _done, _total: None
    ) -> None:
        self._count, self._threads, self._progress = count, threads, progress
        self._workers: list[_Worker] = []

    @property
    def free_slots(self) -> float:
        """One job for each process."""
        return self._count - sum(worker.job is not None for worker in self._workers)

    def begin(self, job: Job) -> None:
        """Gives a job to a process that has none."""
        self._workers = [worker for worker in self._workers if worker.job or worker.process.is_alive()]
        worker = next((idle for idle in self._workers if idle.job is None), None) or self._start()
        worker.job = job
        with suppress(OSError):  # if the process ends now, next() reports it
            worker.pipe.send(job)

    def next(self) -> Outcome:
        """Waits for a job or a process to end, and reports progress."""
        while True:
            for ready in wait([worker.pipe for worker in self._workers if worker.job is not None]):
                worker = next(worker for worker in self._workers if worker.pipe is ready)
                job = worker.job
                assert job is not None
                try:
                    message = worker.pipe.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    self._workers.remove(worker)
                    return Outcome(
                        job.name,
                        problem=f"the process of {job.name} was killed or memory ran out (exit code "
                        f"{worker.process.exitcode}). What it had written is whole; the same command continues.",
                    )
                if isinstance(message, Outcome):
                    worker.job = None
                    return message
                if isinstance(message, BaseException):  # a stop request that reached the worker
                    raise message
                self._progress(job.name, *message)

    def stop(self) -> None:
        """Ends all workers; one that runs a job may save its state."""
        for worker in self._workers:
            worker.pipe.close()
            if worker.job is not None:
                worker.process.terminate()
        until = time.monotonic() + _PATIENCE
        for worker in self._workers:
            worker.process.join(max(until - time.monotonic(), 0.0))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    def _start(self) -> _Worker:
        ours, theirs = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(self._threads, theirs), daemon=True)
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ |= dict.fromkeys(_THREADS, str(self._threads))  # read once, when the libraries are loaded
        try:
            process.start()
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
        theirs.close()  # so that the pipe reports the end of the process
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]


def _serve(threads: int, pipe: Any) -> None:
    """The main loop of a worker: runs jobs until the pipe closes."""
    end_with_parent()
    import torch

    torch.set_num_threads(threads)
    try:
        while True:
            job = pipe.recv()
            try:
                pipe.send(attempt(job, lambda *about: pipe.send(about)))
            except (Interrupted, KeyboardInterrupt) as stopped:
                pipe.send(stopped)
    except (EOFError, OSError, KeyboardInterrupt):
        return  # no more jobs, or stopped between two jobs


def end_with_parent() -> None:
    """Ends this process when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a process started by multiprocessing has a parent"

    def leave() -> None:
        parent.join()
        os._exit(1)  # as safe as a kill: files are complete, and the same command continues

    threading.Thread(target=leave, daemon=True).start()
