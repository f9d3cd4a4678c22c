"""What trainings will cost, from a few steps of each kind on this machine as it is now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import torch

from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.training.config import TrainingConfig
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.optimiser import Optimiser

_TIMED_STEPS = 3
_STATES = 3 * 2
"""Weights and two moments, in each of the two states that are kept."""
_BYTES = 4


def training_seconds(configs: Sequence[TrainingConfig], workers: int) -> float:
    """How long some trainings take together, one core each, ``workers`` at a time."""
    each = [seconds_of(config) for config in configs]
    return max(sum(each) / workers, max(each, default=0.0))


def seconds_of(config: TrainingConfig) -> float:
    """How long one training takes on one core."""
    return _seconds_per_step(_kind(config)) * config.schedule.steps


def bytes_of(config: TrainingConfig) -> int:
    """What one training leaves on disk."""
    return config.model.parameters * (config.schedule.steps // config.spacing + _STATES) * _BYTES


def _kind(config: TrainingConfig) -> TrainingConfig:
    """What decides the pace of a step; all else is set to the same."""
    same = replace(config.schedule, peak=1e-4, warmup=0, hold=0, steps=1)
    return replace(config, seed=0, device="cpu", threads=1, schedule=same, preset="")


@cache
def _seconds_per_step(config: TrainingConfig) -> float:
    """The best of a few steps on random tokens: what a step costs does not depend on what they are."""
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
            _, gradients = loss_and_gradients(model, tokens, tokens[:, 0], lambda first_row: Dropout(0, 0, first_row))
            optimiser.step(gradients, config.schedule.peak)
            times.append(time.perf_counter() - began)
        return min(times[1:])
    finally:
        torch.set_num_threads(threads)
