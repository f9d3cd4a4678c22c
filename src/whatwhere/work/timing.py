"""What each stage of the reproduction took, beside what the authors report (Appendix, compute resources).

The authors: 28 min 30 s and 26 min 29 s of training on one RTX A5000, then 5 hours of GPU and 8.5 hours of a 16-core
CPU for the metrics of each model, and 2.0 TB of stored attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from math import nan
from pathlib import Path

from whatwhere.store.storage import write_csv
from whatwhere.work.stage import Record

_TRAINING = {"train-number": 28 * 60 + 30.0, "train-letter": 26 * 60 + 29.0}
GPU = {**_TRAINING, "score-number": 5 * 3600.0, "score-letter": 5 * 3600.0}
CPU = {"score-number": 8.5 * 3600, "score-letter": 8.5 * 3600}
STORED = 2.0e12
SUMS = ("total", "elapsed")
"""The last rows: the time of all stages, and the time that passed, which is less where stages ran side by side."""


@dataclass(frozen=True)
class Timing:
    """One stage, ours and theirs; NaN where the paper gives nothing."""

    stage: str
    seconds: float
    bytes: int
    authors_gpu_seconds: float
    authors_cpu_seconds: float
    authors_bytes: float


def timings(records: Sequence[Record], elapsed: float) -> list[Timing]:
    """A row for each stage, the total, and the time that passed."""
    rows = [Timing(r.stage, r.seconds, r.bytes, GPU.get(r.stage, nan), CPU.get(r.stage, nan), nan) for r in records]
    seconds, size = sum(r.seconds for r in records), sum(r.bytes for r in records)
    theirs = sum(GPU.values()), sum(CPU.values()), STORED
    return [*rows, Timing(SUMS[0], seconds, size, *theirs), Timing(SUMS[1], elapsed, size, *theirs)]


def write_timings(path: Path, rows: Sequence[Timing]) -> None:
    """Writes ``timing.csv``."""
    write_csv(path, [field.name for field in fields(Timing)], [astuple(row) for row in rows])


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
    """A number of bytes for people, in powers of ten; nothing for NaN."""
    if count != count:
        return ""
    for unit, of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= of:
            return f"{count / of:.1f} {unit}"
    return f"{count:.0f} B"
