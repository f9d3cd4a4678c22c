"""What each job of the reproduction took, beside what the authors report (Appendix, compute resources).

The authors: 28 min 30 s and 26 min 29 s of training on one RTX A5000, then 5 hours of GPU and 8.5 hours of a 16-core
CPU for the metrics of each model, and 2.0 TB of stored attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path

from whatwhere.machine.memory import in_words
from whatwhere.store.manifest import Manifest
from whatwhere.training.run import Run
from whatwhere.work.executor import Job

_TRAINING = {"train-number": 28 * 60 + 30.0, "train-letter": 26 * 60 + 29.0}
GPU = {**_TRAINING, "dynamics-number": 5 * 3600.0, "dynamics-letter": 5 * 3600.0}
CPU = {"dynamics-number": 8.5 * 3600, "dynamics-letter": 8.5 * 3600}
STORED = 2.0e12
SUMS = ("total", "elapsed")
"""The last rows: the time of all jobs, and the time that passed, which is less where jobs ran in parallel."""


@dataclass(frozen=True)
class Timing:
    """One job, ours and theirs; NaN where the paper gives nothing."""

    job: str
    seconds: float
    bytes: int
    authors_gpu_seconds: float
    authors_cpu_seconds: float
    authors_bytes: float


def timings(jobs: Sequence[Job], elapsed: float) -> list[Timing]:
    """A row for each job that trained or measured, the total, and the time that passed."""
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
    """A time for people: 4.2 s, 28 min 30 s, 8 h 30 min; nothing for NaN."""
    if seconds != seconds:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: float) -> str:
    """A number of bytes for people; nothing for NaN."""
    return "" if count != count else in_words(count)
