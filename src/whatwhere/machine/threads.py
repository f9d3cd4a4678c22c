"""Independent pieces of torch work in parallel, one core for each.

Models of this size are too small to split one matrix product over several cores. It is faster to give each core a
sequence or a batch of its own. Each piece runs on one thread, so results do not depend on the number of cores.
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
    """Applies ``work`` to each item, in as many threads as torch may use cores (``torch.set_num_threads``)."""
    cores = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        if min(cores, len(items)) < 2:
            return [work(item) for item in items]
        return list(_workers(min(cores, len(items)), os.getpid()).map(work, items))
    finally:
        torch.set_num_threads(cores)  # the setting is partly global


def split(items: range, parts: int) -> list[range]:
    """Splits a range into consecutive parts whose lengths differ by at most one."""
    return [items[i * len(items) // parts : (i + 1) * len(items) // parts] for i in range(parts)]


@cache
def _workers(wanted: int, _process: int) -> ThreadPoolExecutor:
    """A cached thread pool: new threads would initialise their libraries again. A forked process gets its own."""
    size = threads_that_fit(wanted)
    workers, all_started = ThreadPoolExecutor(size, "whatwhere", torch.set_num_threads, (1,)), threading.Barrier(size)
    for waiting in [workers.submit(all_started.wait) for _ in range(size)]:
        waiting.result()  # a thread that starts later would change the global setting while others use it
    return workers


def keep_memory() -> None:
    """Makes the allocator keep freed memory, for work that allocates the same sizes again and again.

    glibc returns large freed blocks to the system; allocating them again costs up to a tenth of a training step. The
    size above which it does so rises to the largest block freed so far (at most 32 MB), so we free one of that size.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
