"""Who does the items of a sweep: processes of this machine, or tasks on a Ray cluster. Both do the same.

A worker answers with the item's results or with what went wrong. One that is killed counts as a failure of its item,
and another takes its place.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import time
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, Protocol, runtime_checkable

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.training.interrupt import Interrupted
from whatwhere.work.sweep_spec import Item
from whatwhere.work.workers import end_with_parent

NODE_RETRIES = 5
"""How often Ray itself begins an item anew because the node that did it is gone."""
_GRACE_SECONDS = 20.0
"""How long a worker that was asked to stop may take to save its state."""
Answer = tuple[Item, dict[str, Any] | None, str]
"""An item with its results, or with None and what went wrong."""


@runtime_checkable
class Workers(Protocol):
    """Does items, several at a time."""

    @property
    def room(self) -> float:
        """How many more items can be begun now."""
        ...

    def begin(self, item: Item, attempt: int) -> None:
        """Begins an item; ``attempt`` counts from 1."""

    def next(self) -> Answer:
        """Waits for an item that was begun to end."""
        ...

    def stop(self) -> None:
        """Ends all work; trainings save their state."""


def attempt_item(place: str, item: Item, attempt: int) -> tuple[dict[str, Any] | None, str]:
    """Does an item, and says in one line why it could not; a later attempt waits for what is left of the earlier."""
    from whatwhere.work.sweep_item import do_item

    time.sleep(min(attempt - 1, 5))
    try:
        return do_item(place, item), ""
    except WhatwhereError as error:
        return None, str(error)
    except Exception as error:  # one defect must not stop the others; it is reported with the item
        logging.getLogger("whatwhere").debug("item %s failed", item.name, exc_info=True)
        return None, f"{type(error).__name__}: {error}"


class LocalWorkers:
    """Processes of this machine, which go from item to item.

    Args:
        place: the sweep's directory or address.
        count: how many.
    """

    def __init__(self, place: str, count: int) -> None:
        self._place = place
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[tuple[Any, Any]] = []  # processes and our ends of their pipes
        self._busy: dict[Any, tuple[Any, Item]] = {}
        self._count = count

    @property
    def room(self) -> float:
        """One item for each process."""
        return self._count - len(self._busy)

    def begin(self, item: Item, attempt: int) -> None:
        """Gives an item to a process that has none."""
        self._idle = [(process, pipe) for process, pipe in self._idle if process.is_alive()]
        process, pipe = self._idle.pop() if self._idle else self._hire()
        with suppress(OSError):  # if it ends just now, the answer will say so
            pipe.send((item, attempt))
        self._busy[pipe] = process, item

    def _hire(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(self._place, theirs))
        process.start()
        theirs.close()  # so that its end is noticed here
        return process, ours

    def next(self) -> Answer:
        """Waits for an answer, or for the end of a process."""
        pipe: Any = wait(list(self._busy))[0]
        process, item = self._busy.pop(pipe)
        try:
            results, problem = pipe.recv()
        except (EOFError, OSError):
            process.join()
            return item, None, f"its process ended early (exit code {process.exitcode})"
        self._idle.append((process, pipe))
        return item, results, problem

    def stop(self) -> None:
        """Asks all processes to end, and ends those that do not."""
        everyone = [process for process, _ in (*self._idle, *self._busy.values())]
        for process in everyone:
            process.terminate()
        for process in everyone:
            process.join(_GRACE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
        for pipe in (*(pipe for _, pipe in self._idle), *self._busy):
            pipe.close()
        self._idle.clear()
        self._busy.clear()


def _serve(place: str, pipe: Any) -> None:
    """The life of a process: item after item, until it is asked to stop or the sweep itself is gone."""
    end_with_parent()
    try:
        while True:
            pipe.send(attempt_item(place, *pipe.recv()))
    except (KeyboardInterrupt, Interrupted, EOFError, OSError):
        return


class RayWorkers:
    """Tasks on a Ray cluster, a core each (and a GPU, if the item trains on one).

    Args:
        place: the sweep's directory, which all nodes must see, or an address.
        address: of the cluster (``HOST:PORT``, ``ray://HOST:PORT``, ``auto``), or ``local`` to begin one here.

    Raises:
        WhatwhereError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, place: str, address: str) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("ray", "scale", "to run a sweep on a cluster") from error
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that begins here reports to nobody
        self._ray, self._place = ray, place
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except Exception as error:  # Ray has many: ConnectionError, ValueError, RuntimeError ...
            raise WhatwhereError(
                f"a Ray cluster was expected at {address!r}, and it cannot be reached: {error}. "
                "Give the address that `ray start --head` printed, or local."
            ) from error
        self._tasks: dict[Any, Item] = {}

    @property
    def room(self) -> float:
        """Ray queues by itself."""
        return math.inf

    def begin(self, item: Item, attempt: int) -> None:
        """Hands an item to the cluster."""
        gpu = item.config is not None and item.training.device == "cuda"
        task = self._ray.remote(attempt_item).options(
            num_cpus=1, num_gpus=int(gpu), max_retries=NODE_RETRIES, name=item.name
        )
        self._tasks[task.remote(self._place, item, attempt)] = item

    def next(self) -> Answer:
        """Waits for the first task that ends."""
        (done, *_), _ = self._ray.wait(list(self._tasks), num_returns=1)
        item = self._tasks.pop(done)
        try:
            results, problem = self._ray.get(done)
        except self._ray.exceptions.RayError as error:
            return item, None, f"Ray: {str(error).strip().splitlines()[0]}"
        return item, results, problem

    def stop(self) -> None:
        """Cancels what is left, and leaves the cluster."""
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        self._tasks.clear()
        self._ray.shutdown()
