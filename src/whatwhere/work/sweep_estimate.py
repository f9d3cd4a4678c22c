"""What a sweep will cost, before it runs: a few steps of each kind of model are timed on one core of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.training.config import TrainingConfig
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.optimiser import Optimiser
from whatwhere.work.sweep_spec import Item

_TIMED_STEPS = 2
_BYTES = 4
_STATES = 2 * 3
"""Two states of three numbers for each weight: itself and its two moments."""


@dataclass(frozen=True)
class Estimate:
    """What one item costs at most: a run that has learned its task ends earlier."""

    seconds: float
    """Of training, on one core of this machine; measuring comes on top. NaN for a model that is there."""
    bytes: int
    """Of checkpoints and states."""


def estimate(
    items: Sequence[Item], observer: Callable[[int, int], None] = lambda _done, _total: None
) -> list[Estimate]:
    """What each item costs, in order; ``observer`` is told how many kinds of model are timed, and of how many."""
    configs = [None if item.config is None else item.training for item in items]
    kinds = dict.fromkeys(_kind(config) for config in configs if config is not None)
    paces = {}
    threads = torch.get_num_threads()
    try:
        for done, kind in enumerate(kinds):
            observer(done, len(kinds))
            torch.set_num_threads(1)
            paces[kind] = _seconds_per_step(kind)
    finally:
        torch.set_num_threads(threads)
    observer(len(kinds), len(kinds))
    return [Estimate(float("nan"), 0) if config is None else _cost(config, paces[_kind(config)]) for config in configs]


def _kind(config: TrainingConfig) -> TrainingConfig:
    """What decides the pace of a step; all else is set to the same."""
    return replace(config, seed=0, device="cpu")


def _cost(config: TrainingConfig, pace: float) -> Estimate:
    numbers = config.model.parameters * (config.schedule.longest // config.spacing + _STATES)
    return Estimate(pace * config.schedule.longest, numbers * _BYTES)


def _seconds_per_step(config: TrainingConfig) -> float:
    """The best of a few steps on random tokens: what a step costs does not depend on what they are."""
    model = GPTJ(config.model)
    model.multiply_in(torch.bfloat16 if config.precision == "bfloat16" else torch.float32)
    optimiser = Optimiser(model, config)
    tokens = torch.randint(0, config.model.vocab_size, (config.batch, config.task.length))
    times = []
    for _ in range(_TIMED_STEPS + 1):  # the first warms up
        began = time.perf_counter()
        _, gradients = loss_and_gradients(model, tokens, tokens[:, 0], lambda first_row: Dropout(0, 0, first_row))
        optimiser.step(gradients, config.schedule.peak)
        times.append(time.perf_counter() - began)
    return min(times[1:])
