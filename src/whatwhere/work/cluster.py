"""A Ray cluster as an executor: jobs become tasks, a core each (and a GPU, if a job trains on one)."""

from __future__ import annotations

import logging
import math
import os
from typing import Any

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.studies.study import no_progress
from whatwhere.work.executor import Job, Outcome, attempt

NODE_RETRIES = 5
"""How often Ray restarts a job whose node is gone."""


class RayCluster:
    """See :class:`~whatwhere.work.executor.Executor`; directories must be addresses or paths that all nodes see.

    Args:
        address: of the cluster (``HOST:PORT``, ``ray://HOST:PORT``, ``auto``), or ``local`` to start one here.

    Raises:
        WhatwhereError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str) -> None:
        with extra_for("to run jobs on a cluster", "ray", "scale"):
            import ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry from a cluster that starts here
        self._ray = ray
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except Exception as error:  # Ray has many: ConnectionError, ValueError, RuntimeError ...
            raise WhatwhereError(
                f"expected a Ray cluster at {address!r}, got {error}. "
                "Give the address that `ray start --head` printed, or local."
            ) from error
        self._tasks: dict[Any, Job] = {}

    @property
    def free_slots(self) -> float:
        """No limit: Ray has its own queue."""
        return math.inf

    def begin(self, job: Job) -> None:
        """Submits a job to the cluster."""
        task = self._ray.remote(attempt).options(
            num_cpus=1, num_gpus=int(job.gpu), max_retries=NODE_RETRIES, name=job.name
        )
        self._tasks[task.remote(job, no_progress)] = job

    def next(self) -> Outcome:
        """Waits for the first task that ends."""
        from ray.exceptions import RayError

        (done, *_), _ = self._ray.wait(list(self._tasks), num_returns=1)
        job = self._tasks.pop(done)
        try:
            return self._ray.get(done)
        except RayError as error:
            return Outcome(job.name, problem=f"Ray: {str(error).strip().splitlines()[0]}")

    def stop(self) -> None:
        """Cancels all remaining tasks, and disconnects."""
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        self._tasks.clear()
        self._ray.shutdown()
