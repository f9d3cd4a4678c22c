"""The presets; each is a complete configuration.

``paper`` is the authors' recipe with about 500 checkpoints; ``short`` gives similar results within minutes on two
cores; ``smoke`` ends in seconds and learns nothing. docs/results.md gives the reasons for these numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from whatwhere.errors import WhatwhereError
from whatwhere.machine.device import cores, fast_precision
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks.task import Task
from whatwhere.training.config import Schedule, TrainingConfig


def paper(task: Task) -> TrainingConfig:
    """The authors' recipe: three epochs, the rate rising to 1e-4 over 750 steps and then falling to 0."""
    return TrainingConfig(
        task=task,
        model=ModelConfig(vocab_size=task.vocab_size),
        preset="paper",
        schedule=Schedule(peak=1e-4, warmup=750, steps=20_250),
        validation=800,  # with the 1,200 inputs that are scored, 2,000 decide when a hop class is learned
        precision=fast_precision("cpu"),
        threads=cores(),
    )


# The rate of the number task rises slowly: positional heads that form at a low rate are pure (docs/results.md).
SHORT = {
    "number": Schedule(peak=4e-4, warmup=1000, steps=2200),
    "letter": Schedule(peak=5e-4, warmup=150, steps=2500),
    "both": Schedule(peak=5e-4, warmup=150, steps=2500),
}


def short(task: Task) -> TrainingConfig:
    """The same data, model, loss and optimiser, compressed in time: a higher rate over fewer steps."""
    return replace(paper(task), preset="short", schedule=SHORT[task.name], spacing=50, validation=400)


def smoke(task: Task) -> TrainingConfig:
    """A tiny model for a few steps: every part of the program in seconds, for tests."""
    return replace(
        short(task),
        preset="smoke",
        model=ModelConfig(vocab_size=task.vocab_size, layers=2, d_model=32, d_mlp=64),
        schedule=Schedule(peak=1e-3, warmup=4, steps=24, hold=16),
        precision="float32",
        dataset_size=1600,
        batch=16,
        spacing=4,
        validation=8,
    )


PRESETS: dict[str, Callable[[Task], TrainingConfig]] = {"smoke": smoke, "short": short, "paper": paper}


def preset(name: str, task: Task) -> TrainingConfig:
    """The configuration of that name."""
    if name not in PRESETS:
        raise WhatwhereError(f"expected a preset of {', '.join(PRESETS)}, got {name!r}.")
    return PRESETS[name](task)
