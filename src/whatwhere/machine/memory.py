"""Memory: sizes are estimated before allocation, and work that does not fit is split into smaller blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from torch import Tensor

Result = TypeVar("Result")
_ONE_AT_A_TIME = threading.RLock()
_SIGNS = ("can't allocate memory", "out of memory", "bad_alloc", "not enough memory", "can't start new thread")
"""Parts of the messages of torch and Python when memory ran out; the exception types alone do not tell."""
_THREAD = 1 << 27
"""Bytes to allow for each thread: its stack, its share of the allocator, and what it works on."""
_CGROUP = Path("/sys/fs/cgroup")


def require(wanted: int, what: str) -> None:
    """Raises an error if an estimate in bytes exceeds the free memory; ``what`` begins the sentence."""
    free = free_bytes()
    if free is not None and wanted > free:
        raise WhatwhereError(
            f"{what} would take about {format_bytes(wanted)} of memory, and {format_bytes(free)} are free. "
            "Ask for less, or use a larger machine."
        )


def free_bytes() -> int | None:
    """Memory that this process may still take: of the machine, its container and its own limit; None if unknown."""
    found = _field("/proc/meminfo", "MemAvailable:"), _of_container(), _of_process()
    return min((free for free in found if free is not None), default=None)


def _of_container() -> int | None:
    """Free memory within the control group; file cache that the kernel can drop counts as free."""
    try:
        most = (_CGROUP / "memory.max").read_text().strip()
        if most == "max":
            return None
        used = int((_CGROUP / "memory.current").read_text())
        return max(0, int(most) - used + (_field(_CGROUP / "memory.stat", "inactive_file") or 0) // 1024)
    except (OSError, ValueError):
        return None


def _of_process() -> int | None:
    """Free memory within the limit of ``ulimit -v``."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _field("/proc/self/status", "VmSize:")
    return None if most == resource.RLIM_INFINITY or used is None else max(0, most - used)


def _field(path: Path | str, name: str) -> int | None:
    """A value of a kernel table such as ``/proc/meminfo``, converted from kB to bytes."""
    try:
        line = next(line for line in Path(path).read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def threads_that_fit(wanted: int) -> int:
    """How many threads fit in memory; the pool would wait forever for a thread that fails to start."""
    free = free_bytes()
    return wanted if free is None else max(1, min(wanted, free // _THREAD))


def format_bytes(count: float) -> str:
    """A number of bytes as readable text, in powers of ten."""
    for unit, of in (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= of:
            return f"{count / of:,.1f} {unit}"
    return f"{count:.0f} B"


def is_exhausted(error: BaseException) -> bool:
    """Whether an exception says that memory ran out: Python's own, or torch's for CPUs and GPUs."""
    text = str(error)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(sign in text for sign in _SIGNS))


def in_smaller_blocks(
    work: Callable[[Tensor], Result], block: Tensor, join: Callable[[Sequence[Result]], Result]
) -> Result:
    """Runs ``work`` on a block of inputs (first axis). If memory runs out, runs it on each half, down to one input.

    Only one thread at a time retries, so that it has the remaining memory to itself.
    """
    try:
        return work(block)
    except (MemoryError, RuntimeError) as error:
        if not is_exhausted(error):
            raise
        if len(block) < 2:
            raise WhatwhereError(
                f"memory ran out on a single input of shape {tuple(block.shape[1:])}. Use a shorter input, or a larger "
                "machine."
            ) from error
    with _ONE_AT_A_TIME:  # out of the except clause: the failed attempt's memory is released
        middle = len(block) // 2
        return join([in_smaller_blocks(work, half, join) for half in (block[:middle], block[middle:])])
