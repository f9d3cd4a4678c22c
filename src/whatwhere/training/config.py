"""Everything that decides a training run: two runs with equal configurations on one machine end with equal weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.machine.device import Device, Precision
from whatwhere.model.shape import ModelConfig
from whatwhere.store.records import from_json
from whatwhere.tasks import task_from_dict
from whatwhere.tasks.task import Task


@dataclass(frozen=True)
class Schedule:
    """Learning rate and length: warm up, hold until the task is learned, then let go until the heads have settled.

    The rate rises over ``warmup`` steps, stays at its peak for at least ``hold`` and at most ``hold_at_most`` steps,
    and falls to 0 over ``decay`` steps. Holding ends early once the task is learned (:class:`Learned`). While the rate
    is held, layers that nothing depends on keep moving; as it falls, every head comes to rest.
    """

    peak: float
    warmup: int
    hold: int
    hold_at_most: int
    decay: int

    def __post_init__(self) -> None:
        if not self.peak > 0:
            raise WhatwhereError(f"the learning rate must be above 0, not {self.peak}.")
        if min(self.warmup, self.hold, self.decay) < 0 or self.hold_at_most < self.hold or self.longest < 1:
            raise WhatwhereError(
                "a schedule needs warmup, hold and decay of 0 or more steps and hold_at_most of at least hold, "
                f"one step in all; it has {self.warmup}, {self.hold}, {self.decay} and {self.hold_at_most}."
            )

    @property
    def longest(self) -> int:
        """The number of steps if the task is never learned."""
        return self.warmup + self.hold_at_most + self.decay

    def end(self, decay_from: int | None) -> int:
        """The last step, as far as is known: ``decay_from`` is the last step at the peak, None while it is held."""
        return self.longest if decay_from is None else decay_from + self.decay

    def rate(self, step: int, decay_from: int | None) -> float:
        """The learning rate of a step (from 1).

        Args:
            step: the step.
            decay_from: the last step at the peak, once known.
        """
        if step <= self.warmup:
            return self.peak * step / self.warmup
        if decay_from is None or step <= decay_from:
            return self.peak
        return self.peak * (1 - (step - decay_from - 1) / self.decay)


@dataclass(frozen=True)
class Learned:
    """When a run has learned its task."""

    accuracy: float = 0.99
    """Every hop class must reach this on the validation sequences ..."""
    evaluations: int = 3
    """... this many times in a row."""


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
    learned: Learned = field(default_factory=Learned)
    spacing: int = 40
    """Steps between two checkpoints."""
    validation: int = 400
    """Held-out sequences that measure accuracy at each checkpoint, in equal hop classes."""
    device: Device = "cpu"
    precision: Precision = "float32"
    """Of the large matrix products; bfloat16 is faster where the device has instructions for it."""
    threads: int = 2
    """CPU threads; part of the configuration, because they order the sums."""

    def __post_init__(self) -> None:
        for name in ("batch", "spacing", "validation", "threads", "dataset_size"):
            if getattr(self, name) < 1:
                raise WhatwhereError(f"{name} must be 1 or more, not {getattr(self, name)}.")
        for name, most in (("threads", 1024), ("seed", 2**63 - 1)):
            if getattr(self, name) > most:
                raise WhatwhereError(f"{name} must be at most {most:,}, not {getattr(self, name):,}.")
        if self.model.vocab_size != self.task.vocab_size:
            raise WhatwhereError(
                f"the {self.task.name} task has {self.task.vocab_size} tokens, and the model {self.model.vocab_size}."
            )
        if not self.clip > 0 or not self.weight_decay >= 0:
            raise WhatwhereError(
                f"clip must be above 0 and weight_decay not below, and they are {self.clip} and {self.weight_decay}."
            )

    @property
    def memory(self) -> int:
        """About how many bytes training takes at least: weights, gradients, moments, their copies, data, one batch."""
        sequence = 8 * (self.task.length + self.task.max_hops + 3)
        return 40 * self.model.parameters + sequence * (self.dataset_size + 8 * self.batch)

    def to_dict(self) -> dict[str, Any]:
        """As ``config.json`` keeps it."""
        return asdict(self) | {"task": self.task.to_dict(), "model": self.model.to_dict()}

    def decisive(self) -> dict[str, Any]:
        """Without what is the machine's: device, precision and threads may differ where a run goes on."""
        of_the_machine = ("device", "precision", "threads")
        return {name: value for name, value in self.to_dict().items() if name not in of_the_machine}

    @classmethod
    def from_dict(cls, content: object) -> TrainingConfig:
        """The inverse of :meth:`to_dict`.

        Raises:
            WhatwhereError: a field is unknown, missing or impossible.
        """
        parts: dict[str, Callable[[Any], object]] = {
            "task": task_from_dict,
            "model": ModelConfig.from_dict,
            "schedule": lambda found: from_json(Schedule, found, "the run's schedule"),
            "learned": lambda found: from_json(Learned, found, "the run's criterion of having learned"),
        }
        given = content if isinstance(content, Mapping) else {}
        ready = {name: make(given[name]) for name, make in parts.items() if name in given}
        return from_json(cls, content, "the run's configuration", **ready)


def is_checkpoint(config: TrainingConfig, step: int) -> bool:
    """Whether the model of a step is kept: every ``spacing`` steps, where the longest hold ends, and at the end."""
    schedule = config.schedule
    return step % config.spacing == 0 or step in (schedule.warmup + schedule.hold_at_most, schedule.longest)
