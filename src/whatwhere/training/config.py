"""The configuration of a training run: on one machine, equal configurations give equal weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.machine.device import Device, Precision
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.model.shape import ModelConfig
from whatwhere.store.documents import parse
from whatwhere.tasks import task_from_dict
from whatwhere.tasks.task import LONGEST, Task

LONGEST_PENALISED = 512
"""Tokens of the longest inputs whose heads can be scored in training."""
_LATER = ("penalty", "penalty_layers", "offsets")
"""Fields that runs of earlier versions do not have; their defaults are empty."""


@dataclass(frozen=True)
class Schedule:
    """Learning rate and length: it rises over ``warmup`` steps, stays for ``hold``, and falls linearly to 0."""

    peak: float
    warmup: int
    steps: int
    """Of the whole run."""
    hold: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.peak < math.inf:
            raise WhatwhereError(f"expected a learning rate above 0, got {self.peak}.")
        if min(self.warmup, self.hold) < 0 or self.steps < 1 or self.warmup + self.hold > self.steps:
            raise WhatwhereError(
                "expected warmup and hold of 0 or more steps that fit into steps, "
                f"got warmup {self.warmup}, hold {self.hold}, steps {self.steps}."
            )

    def rate(self, step: int) -> float:
        """The learning rate of a step (from 1)."""
        if step <= self.warmup:
            return self.peak * step / self.warmup
        held = self.warmup + self.hold
        return self.peak * min(1.0, (self.steps + 1 - step) / (self.steps - held)) if step > held else self.peak

    def phase(self, step: int) -> str:
        """``warm-up``, ``hold`` or ``decay``."""
        return "warm-up" if step <= self.warmup else "hold" if step <= self.warmup + self.hold else "decay"


@dataclass(frozen=True)
class TrainingConfig:
    """A complete run."""

    task: Task
    model: ModelConfig
    schedule: Schedule
    preset: str = "custom"
    seed: int = 0
    """Of the data, the initial weights, the order of the sequences and dropout."""
    dataset_size: int = 480_000
    batch: int = 64
    weight_decay: float = 1e-4
    """On matrices only."""
    betas: tuple[float, float] = (0.95, 0.999)
    clip: float = 1.0
    """The largest norm of a gradient."""
    spacing: int = 40
    """Steps between two checkpoints."""
    validation: int = 400
    """Held-out sequences that measure accuracy at each checkpoint, in equal hop classes."""
    device: Device = "cpu"
    precision: Precision = "float32"
    """Of the large matrix products; bfloat16 is faster where the device has instructions for it."""
    threads: int = 2
    """CPU threads; part of the configuration, because they order the sums."""
    penalty: float = 0.0
    """Weight of the centred positional score in the loss (:mod:`whatwhere.training.penalty`)."""
    penalty_layers: tuple[int, ...] = ()
    """The layers that the penalty scores, from 0; empty for all."""
    offsets: int = 0
    """How many positions each step leaves out at random between tokens; 0 leaves tokens at 0, 1, 2, .."""

    def __post_init__(self) -> None:
        for name in ("batch", "spacing", "validation", "threads", "dataset_size"):
            if getattr(self, name) < 1:
                raise WhatwhereError(f"expected {name} of 1 or more, got {getattr(self, name)}.")
        for name, most in (("threads", 1024), ("seed", LARGEST_SEED)):
            if getattr(self, name) > most:
                raise WhatwhereError(f"expected {name} of at most {most:,}, got {getattr(self, name):,}.")
        if self.seed < 0:
            raise WhatwhereError(f"expected a seed of 0 or more, got {self.seed}.")
        if self.model.vocab_size != self.task.vocab_size:
            raise WhatwhereError(
                f"expected a model with the {self.task.vocab_size} tokens of the {self.task.name} task, got one with "
                f"{self.model.vocab_size}."
            )
        if not self.clip > 0 or not self.weight_decay >= 0:
            raise WhatwhereError(
                f"expected clip above 0 and weight_decay of 0 or more, got {self.clip} and {self.weight_decay}."
            )
        self._check_penalty()
        if not 0 <= self.offsets <= LONGEST:
            raise WhatwhereError(f"expected offsets of 0 to {LONGEST:,} positions, got {self.offsets:,}.")

    def _check_penalty(self) -> None:
        if not 0 <= self.penalty < math.inf:
            raise WhatwhereError(f"expected a penalty of 0 or more, got {self.penalty}.")
        if self.penalty_layers and not self.penalty:
            raise WhatwhereError("expected a penalty with penalty_layers, got none; give it a weight above 0.")
        wrong = [layer for layer in self.penalty_layers if not 0 <= layer < self.model.layers]
        if wrong or len(set(self.penalty_layers)) < len(self.penalty_layers):
            raise WhatwhereError(
                f"expected penalty_layers among 0 to {self.model.layers - 1}, each once, got {self.penalty_layers}."
            )
        if self.penalty and self.task.length > LONGEST_PENALISED:
            raise WhatwhereError(
                f"expected inputs of at most {LONGEST_PENALISED} tokens with a penalty, got {self.task.length}: the "
                "swaps of a query are a square of them. Shorten a window."
            )

    @property
    def memory(self) -> int:
        """A lower estimate of the bytes for training: weights, gradients, moments, their copies, data, one batch."""
        sequence = 8 * (self.task.length + self.task.max_hops + 3)
        return 40 * self.model.parameters + sequence * (self.dataset_size + 8 * self.batch)

    def to_dict(self) -> dict[str, Any]:
        """The content of ``config.json``. Newer fields only if used, so that the fingerprints of older runs stay."""
        content = asdict(self) | {"task": self.task.to_dict(), "model": self.model.to_dict()}
        return {name: value for name, value in content.items() if name not in _LATER or value}

    def decisive(self) -> dict[str, Any]:
        """The settings without device, precision and threads, which may differ when a run continues."""
        of_the_machine = ("device", "precision", "threads")
        return {name: value for name, value in self.to_dict().items() if name not in of_the_machine}

    @classmethod
    def from_dict(cls, content: object) -> TrainingConfig:
        """The inverse of :meth:`to_dict`; refuses fields that are unknown, missing or impossible."""
        parts: dict[str, Callable[[Any], object]] = {
            "task": task_from_dict,
            "model": ModelConfig.from_dict,
            "schedule": lambda found: parse(Schedule, found, "the run's schedule"),
        }
        given = content if isinstance(content, Mapping) else {}
        ready = {name: make(given[name]) for name, make in parts.items() if name in given}
        return parse(cls, content, "the run's configuration", **ready)


def is_checkpoint(config: TrainingConfig, step: int) -> bool:
    """Whether the model of a step is kept: every ``spacing`` steps, and at the end."""
    return step % config.spacing == 0 or step == config.schedule.steps
