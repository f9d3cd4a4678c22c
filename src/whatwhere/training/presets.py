"""The named ways to train; each is a complete configuration, and a variant changes a field of one.

``smoke`` ends in seconds and learns nothing; ``quick`` is the fastest to 0.99; ``laptop`` shows the paper's picture
within minutes on two cores; ``paper`` goes on for long with about 500 checkpoints. Why these numbers: docs/results.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from whatwhere.errors import WhatwhereError
from whatwhere.model.config import ModelConfig
from whatwhere.tasks.task import Task
from whatwhere.training.config import Learned, Schedule, TrainingConfig
from whatwhere.training.device import fast_precision


def laptop(task: Task) -> TrainingConfig:
    """The paper's data and architecture, its dynamics and its mechanism, in minutes.

    The rate rises all along: heads that form while it is low are pure, and what they look at stays as it rises, which
    sharpens attention enough for long inputs. Held from early on, a low rate gives the first, a high one the second.
    """
    return TrainingConfig(
        task=task,
        model=ModelConfig(vocab_size=task.vocab_size),
        preset="laptop",
        schedule=Schedule(peak=1e-3, warmup=2400, hold=0, hold_at_most=500, decay=500),
        validation=400,
        precision=fast_precision("cpu"),
        threads=cores(),
    )


def quick(task: Task) -> TrainingConfig:
    """The fastest way to 0.99 on every hop class: it lets go early and measures less."""
    return replace(
        laptop(task),
        preset="quick",
        schedule=Schedule(peak=1e-3, warmup=100, hold=400, hold_at_most=2000, decay=300),
        learned=Learned(accuracy=0.97, evaluations=1),
        checkpoints=40,
    )


def paper(task: Task) -> TrainingConfig:
    """A long run at a low rate: three passes over the full set, about 500 checkpoints."""
    return replace(
        laptop(task),
        preset="paper",
        schedule=Schedule(peak=2e-4, warmup=200, hold=18_000, hold_at_most=18_000, decay=2000),
        checkpoints=500,
    )


def smoke(task: Task) -> TrainingConfig:
    """A tiny model for a few steps: the whole machinery in seconds, for tests."""
    return replace(
        laptop(task),
        preset="smoke",
        model=ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=32, d_mlp=64),
        schedule=Schedule(peak=1e-3, warmup=4, hold=16, hold_at_most=16, decay=4),
        precision="float32",
        dataset_size=1600,
        batch=16,
        checkpoints=6,
        validation=8,
    )


PRESETS: dict[str, Callable[[Task], TrainingConfig]] = {
    "smoke": smoke,
    "quick": quick,
    "laptop": laptop,
    "paper": paper,
}


def preset(name: str, task: Task) -> TrainingConfig:
    """The configuration of that name.

    Raises:
        WhatwhereError: there is none.
    """
    if name not in PRESETS:
        raise WhatwhereError(f"a preset ({', '.join(PRESETS)}) was expected, and {name!r} arrived.")
    return PRESETS[name](task)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
