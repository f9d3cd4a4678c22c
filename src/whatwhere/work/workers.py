"""Processes that do the stages of a work, as many at a time as there are cores.

Two single-threaded trainings side by side use two cores better than one training with two threads, and so does every
analysis. A worker builds the stages itself and is told only their names. It ends with the process that started it,
however that ends: whatever a stage leaves is whole, and the same work goes on from there.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from whatwhere.errors import WhatwhereError
from whatwhere.training.interrupt import Interrupted
from whatwhere.work.stage import Said, Stage

if TYPE_CHECKING:
    from multiprocessing.connection import Connection, PipeConnection

    Line: TypeAlias = "Connection[Any, Any] | PipeConnection[Any, Any]"

_PATIENCE = 60.0
"""Seconds that a worker gets to save what it has when it is asked to stop."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class _Worker:
    process: BaseProcess
    connection: Line
    stage: str | None = None


class Workers:
    """A crew of processes; see :class:`~whatwhere.work.stage.Crew`.

    Args:
        make: builds the stages; it must be importable by name, as each worker calls it.
        directory: of the work.
        size: the number of processes.
        threads: CPU threads of each.
        said: told how far each stage is.
    """

    def __init__(
        self, make: Callable[[], Sequence[Stage]], directory: Path, size: int, threads: int, said: Said
    ) -> None:
        self.size = size
        self._make, self._directory, self._threads, self._said = make, directory, threads, said
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends all workers; one in the middle of a stage may save what it has."""
        for worker in self._workers:
            worker.connection.close()
            if worker.stage is not None:
                worker.process.terminate()
        until = time.monotonic() + _PATIENCE
        for worker in self._workers:
            worker.process.join(max(until - time.monotonic(), 0.0))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def begin(self, stage: Stage) -> None:
        """Gives a stage to a worker."""
        worker = next((idle for idle in self._workers if idle.stage is None), None) or self._hire()
        worker.stage = stage.name
        worker.connection.send(stage.name)

    def wait(self) -> str:
        """The name of the next stage to be done; see :class:`~whatwhere.work.stage.Crew`."""
        while True:
            for ready in wait([worker.connection for worker in self._workers if worker.stage is not None]):
                worker = next(worker for worker in self._workers if worker.connection is ready)
                name = worker.stage
                assert name is not None
                try:
                    message = worker.connection.recv()
                except EOFError:
                    raise WhatwhereError(
                        f"the process that did the stage {name} ended without a word: it was killed, or memory ran "
                        "out. What it had written is whole; the same command goes on."
                    ) from None
                if isinstance(message, BaseException):
                    raise message
                if message is None:
                    worker.stage = None
                    return name
                self._said(name, *message)

    def _hire(self) -> _Worker:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(self._make, self._directory, self._threads, theirs), daemon=True
        )
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ |= dict.fromkeys(_THREADS, str(self._threads))  # read once, when the libraries are loaded
        try:
            process.start()
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
        theirs.close()
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]


def _serve(make: Callable[[], Sequence[Stage]], directory: Path, threads: int, connection: Line) -> None:
    """The life of a worker: stages by name, until nobody is there to name one."""
    end_with_parent()
    import torch

    torch.set_num_threads(threads)
    stages = {stage.name: stage for stage in make()}
    try:
        while True:
            stage = stages[connection.recv()]
            connection.send(_outcome(stage, directory, connection))
    except (EOFError, OSError, KeyboardInterrupt):
        return  # the work is over, or was stopped between two stages


def _outcome(stage: Stage, directory: Path, connection: Line) -> BaseException | None:
    """Does a stage; None if it is done, otherwise what ended it."""
    try:
        stage.run(directory, lambda *said: connection.send(said))
    except (WhatwhereError, Interrupted, KeyboardInterrupt) as error:
        return error
    except Exception:
        return RuntimeError(f"the stage {stage.name} failed:\n{traceback.format_exc()}")
    return None


def end_with_parent() -> None:
    """Ends this process when the one that started it is gone: work that nobody watches must not go on."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "the process that began everything has nobody to end with"

    def leave() -> None:
        parent.join()
        os._exit(1)  # like a kill: what is on disk is whole, and the same command goes on from it

    threading.Thread(target=leave, daemon=True).start()
