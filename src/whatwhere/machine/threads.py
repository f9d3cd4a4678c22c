"""Independent pieces of torch work in parallel, one core for each.

Models of this size are too small to share one product among cores without waiting for each other; given a sequence or a
batch each, cores do not wait. Pieces are computed on one thread each, so what they give does not depend on how many
run at a time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

from whatwhere.machine.memory import threads_that_fit

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """What ``work`` gives for each item, as many at a time as torch may use cores (``torch.set_num_threads``)."""
    cores = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        if min(cores, len(items)) < 2:
            return [work(item) for item in items]
        return list(_workers(min(cores, len(items)), os.getpid()).map(work, items))
    finally:
        torch.set_num_threads(cores)  # part of the setting is shared by all threads


def split(items: range, parts: int) -> list[range]:
    """A range in so many parts, in order, whose lengths differ by one at most."""
    return [items[i * len(items) // parts : (i + 1) * len(items) // parts] for i in range(parts)]


@cache
def _workers(wanted: int, _process: int) -> ThreadPoolExecutor:
    """Threads that stay: a new one would have to set up its share of the libraries again. A forked process has none."""
    size = threads_that_fit(wanted)
    workers, all_started = ThreadPoolExecutor(size, "whatwhere", torch.set_num_threads, (1,)), threading.Barrier(size)
    for waiting in [workers.submit(all_started.wait) for _ in range(size)]:
        waiting.result()  # a thread that started later would change what is shared while others rely on it
    return workers


def keep_memory() -> None:
    """Lets the process keep what it frees, for work that takes the same memory again and again.

    The C library of Linux hands freed blocks back to the system, and fetching them again costs a training step up to a
    tenth of its time. How large a block it keeps follows the largest that was freed, up to 32 MB, so one is.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
