"""A preset and what a user changes in it: the options of ``whatwhere train``, and the axes of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.machine.device import check_precision, choose_device
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import make_task
from whatwhere.training.config import TrainingConfig
from whatwhere.training.presets import preset


@dataclass(frozen=True)
class Options:
    """What decides a run, as people say it; None leaves what the preset has."""

    task: str
    preset: str = "short"
    seed: int = 0
    heads: int | None = None
    layers: int | None = None
    rope_base: float | None = None
    """0 switches rotation off (NoPE)."""
    close: str | None = None
    """Rotary planes that no head may use, by ID from 1: ``1-8,20``."""
    lr: float | None = None
    batch: int | None = None
    device: str = "auto"
    precision: str | None = None
    threads: int | None = None

    def config(self, **task_parameters: Any) -> TrainingConfig:
        """The complete configuration.

        Args:
            task_parameters: parameters of the task other than the paper's, such as the size of its vocabulary.

        Raises:
            WhatwhereError: something is unknown or cannot go together.
        """
        base = preset(self.preset, make_task(self.task, **task_parameters))
        config = replace(base, seed=self.seed, model=self._model(base.model), device=choose_device(self.device))
        if self.lr is not None:
            config = replace(config, schedule=replace(config.schedule, peak=self.lr))
        if self.batch is not None:
            config = replace(config, batch=self.batch)
        if self.precision is not None:
            config = replace(config, precision=check_precision(self.precision))
        return config if self.threads is None else replace(config, threads=self.threads)

    def _model(self, base: ModelConfig) -> ModelConfig:
        model = base
        if self.heads is not None:
            model = replace(model, heads=self.heads)
        if self.layers is not None:
            model = replace(model, layers=self.layers)
        if self.rope_base is not None:
            model = replace(model, rope_base=self.rope_base or None)
        if self.close is not None:
            model = replace(model, closed_planes=(planes(self.close),) * model.layers)
        return model


def planes(text: str) -> tuple[int, ...]:
    """The plane IDs that a text such as ``1-8,20`` names, in order.

    Raises:
        WhatwhereError: it is not such a text.
    """
    chosen: set[int] = set()
    try:
        for word in text.split(","):
            first, dash, last = word.partition("-")
            ends = int(first), int(last if dash else first)
            if not 0 < ends[0] <= ends[1] <= _MOST_PLANES:
                raise ValueError(word)
            chosen |= set(range(ends[0], ends[1] + 1))
    except ValueError as error:
        raise WhatwhereError(f"planes are named by their IDs from 1, such as 1-8,20, and {text!r} arrived.") from error
    return tuple(sorted(chosen))


_MOST_PLANES = 1 << 16
"""More than any head has; so that a wrong number is refused and not written out."""
