"""One training run on several processes, devices or hosts: ``torchrun ... -m whatwhere train ...``.

The processes split the rows of the batch that a single process would take, and the gradients are summed. Dropout masks
depend on the index of a row in the batch (:mod:`whatwhere.model.dropout`). So the results equal those of one process up
to the order of floating-point sums, and a run may continue with another number of processes.

Only the first process reads and writes the run, evaluates and decides; the others get what they need from it
(:meth:`Processes.share`) and need no access to its disk. An error in one process ends all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import torch
from torch import Tensor, distributed

from whatwhere.errors import WhatwhereError
from whatwhere.machine.threads import split
from whatwhere.training.config import TrainingConfig

T = TypeVar("T")


class ProcessLost(WhatwhereError):
    """Another process of the same training ended, or cannot be reached."""


@dataclass(frozen=True)
class Processes:
    """This process among those of one training; with a size of 1, the methods communicate nothing."""

    rank: int = 0
    size: int = 1
    beside: int = 1
    """How many of them run on this host and share its cores."""

    @property
    def first(self) -> bool:
        """Whether this process reads, writes, evaluates and decides."""
        return self.rank == 0

    def share(self, make: Callable[[], T]) -> T:
        """Calls ``make`` on the first process and broadcasts the result to all."""
        if self.size == 1:
            return make()
        made = [make() if self.first else None]
        with _reporting_lost_processes():
            distributed.broadcast_object_list(made, src=0)
        return made[0]  # pyright: ignore[reportReturnType]

    def add(self, numbers: Sequence[float]) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64)
        with _reporting_lost_processes():
            distributed.all_reduce(sums)
        return sums.tolist()

    def sum_gradients(self, gradients: Sequence[Tensor]) -> None:
        """Sums the gradients of all processes, in place and in one message."""
        if self.size == 1:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        with _reporting_lost_processes():
            distributed.all_reduce(flat)
        for gradient, total in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(total.view_as(gradient))

    def rows(self, count: int) -> range:
        """The rows of this process out of ``count``; the shares differ by at most one row."""
        return split(range(count), self.size)[self.rank]

    def checked(self, config: TrainingConfig) -> TrainingConfig:
        """The configuration; an error if a process would have no rows or no GPU."""
        if config.batch < self.size:
            raise WhatwhereError(
                f"each of {self.size} processes needs a sequence or more in every step, and the batch of this run is "
                f"{config.batch}. Use at most that many processes, or begin a run with a larger --batch."
            )
        if config.device == "cuda" and self.beside > torch.cuda.device_count():
            raise WhatwhereError(
                f"{self.beside} processes on this host need a GPU each, and it has {torch.cuda.device_count()}. "
                "Lower --nproc-per-node of torchrun, or train with --device cpu."
            )
        return config

    def threads(self, wanted: int) -> int:
        """CPU threads of this process: an equal share of ``wanted`` on this host."""
        return max(1, wanted // self.beside)


ALONE = Processes()
"""Training on one process."""


@contextmanager
def joined() -> Iterator[Processes]:
    """Joins the processes that torchrun (or anything that sets the same variables) started; one process otherwise.

    Raises:
        ProcessLost: the others cannot be reached.
        WhatwhereError: the variables are not as torchrun sets them.
    """
    world = _variable("WORLD_SIZE", 1, least=1)
    if world == 1:
        yield ALONE
        return
    if "MASTER_ADDR" not in os.environ or _variable("RANK", world) >= world or not _variable("MASTER_PORT", 0):
        raise WhatwhereError(
            f"WORLD_SIZE asks for {world} processes: expected RANK below it, MASTER_ADDR and MASTER_PORT as torchrun "
            "sets them, got others or none. Start with torchrun, or unset WORLD_SIZE."
        )
    gpus, local = torch.cuda.device_count(), _variable("LOCAL_RANK", 0)
    if local < gpus:
        torch.cuda.set_device(local)
    with _reporting_lost_processes():
        distributed.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo")
    try:
        beside = _variable("LOCAL_WORLD_SIZE", 1, least=1)
        yield Processes(distributed.get_rank(), distributed.get_world_size(), beside)
    finally:
        distributed.destroy_process_group()


def leave(code: int) -> NoReturn:
    """Ends a process that is not the first of its training, without Python's own clean-up.

    A gloo thread may still hold the last message. If it releases it during Python's clean-up, torch aborts the process,
    and a successful training ends with an error (pytorch/pytorch pull request 179291). These processes write no files,
    so nothing is lost.
    """
    distributed.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _variable(name: str, default: int, least: int = 0) -> int:
    """An integer environment variable."""
    text = os.environ.get(name, str(default))
    if not (text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise WhatwhereError(
            f"expected {name} in the environment as a whole number of {least} or more, as torchrun sets it, got "
            f"{text!r:.80}. Start with torchrun, or unset it."
        )
    return int(text)


@contextmanager
def _reporting_lost_processes() -> Iterator[None]:
    """Turns a broken connection to another process into an error message; other exceptions pass through."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, distributed.DistError) or "gloo" in str(error):
            raise ProcessLost(
                "another process of this training ended or cannot be reached; its own message says why. "
                "What was saved is whole: fix it, then continue with --resume."
            ) from error
        raise
