"""Times of the jobs of a reproduction, compared with the authors' (Appendix, compute resources), and estimates.

The authors: 28 min 30 s and 26 min 29 s of training on one RTX A5000, then 5 hours of GPU and 8.5 hours of a 16-core
CPU for the metrics of each model, and 2.0 TB of stored attention. The cost of trainings is estimated from a few steps
of each kind on this machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import nan
from pathlib import Path

import torch

from whatwhere.machine.memory import format_bytes
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.store.manifest import Manifest
from whatwhere.training.config import TrainingConfig
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.optimiser import Optimiser
from whatwhere.training.run import Run
from whatwhere.work.executor import Job

_TRAINING = {"train-number": 28 * 60 + 30.0, "train-letter": 26 * 60 + 29.0}
GPU = {**_TRAINING, "dynamics-number": 5 * 3600.0, "dynamics-letter": 5 * 3600.0}
CPU = {"dynamics-number": 8.5 * 3600, "dynamics-letter": 8.5 * 3600}
STORED = 2.0e12
SUMS = ("total", "elapsed")
"""The last rows: the sum over jobs, and the elapsed time, which is less if jobs ran in parallel."""
_TIMED_STEPS = 3
_STATES = 3 * 2
"""Weights and two moments, in each of the two states that are kept."""
_BYTES = 4


@dataclass(frozen=True)
class Timing:
    """One job, ours and the authors'; NaN where the paper gives no number."""

    job: str
    seconds: float
    bytes: int
    authors_gpu_seconds: float
    authors_cpu_seconds: float
    authors_bytes: float


def timings(jobs: Sequence[Job], elapsed: float) -> list[Timing]:
    """A row for each job that trained or measured, the total, and the elapsed time."""
    rows = [_timing(job) for job in jobs if job.group not in ("figures", "zoo")]
    seconds, size = sum(row.seconds for row in rows if row.seconds == row.seconds), sum(row.bytes for row in rows)
    theirs = sum(GPU.values()), sum(CPU.values()), STORED
    return [*rows, Timing(SUMS[0], seconds, size, *theirs), Timing(SUMS[1], elapsed, size, *theirs)]


def _timing(job: Job) -> Timing:
    directory = Path(job.arguments["directory"])
    if job.group == "train":
        metrics = Run(directory).metrics() if Run(directory).exists else []
        seconds = metrics[-1]["seconds"] if metrics else nan
        files = [*directory.glob("*.*"), *directory.glob("checkpoints/*"), *directory.glob("resume/*")]
    else:
        manifest = Manifest(directory)
        seconds = manifest.record.seconds if manifest.exists else nan
        files = list(directory.glob("*.*"))
    size = sum(path.stat().st_size for path in files if path.is_file())
    return Timing(job.name, seconds, size, GPU.get(job.name, nan), CPU.get(job.name, nan), nan)


def duration(seconds: float) -> str:
    """A time as text: 4.2 s, 28 min 30 s, 8 h 30 min; empty for NaN."""
    if seconds != seconds:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: float) -> str:
    """A number of bytes as text; empty for NaN."""
    return "" if count != count else format_bytes(count)


def training_seconds(configs: Sequence[TrainingConfig], workers: int) -> float:
    """Estimated seconds of some trainings, one core each, ``workers`` in parallel."""
    each = [seconds_of(config) for config in configs]
    return max(sum(each) / workers, max(each, default=0.0))


def seconds_of(config: TrainingConfig) -> float:
    """Estimated seconds of one training on one core."""
    # Settings that do not affect the time of a step get one value, so that the cache works.
    schedule = replace(config.schedule, peak=1e-4, warmup=0, hold=0, steps=1)
    kind = replace(config, seed=0, device="cpu", threads=1, schedule=schedule, preset="")
    return _seconds_per_step(kind) * config.schedule.steps


def bytes_of(config: TrainingConfig) -> int:
    """The size of one training on disk."""
    return config.model.parameters * (config.schedule.steps // config.spacing + _STATES) * _BYTES


@cache
def _seconds_per_step(config: TrainingConfig) -> float:
    """The fastest of a few steps on random tokens."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = GPTJ(config.model)
        model.multiply_in(torch.bfloat16 if config.precision == "bfloat16" else torch.float32)
        optimiser = Optimiser(model, config)
        tokens = torch.randint(0, config.model.vocab_size, (config.batch, config.task.length))
        times = []
        for _ in range(_TIMED_STEPS + 1):  # the first warms up
            began = time.perf_counter()
            _, gradients = loss_and_gradients(model, tokens, tokens[:, 0], partial(Dropout, 0, 0))
            optimiser.step(gradients, config.schedule.peak)
            times.append(time.perf_counter() - began)
        return min(times[1:])
    finally:
        torch.set_num_threads(threads)
