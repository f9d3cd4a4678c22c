"""Optional logging besides ``metrics.csv``: TensorBoard, or a module with wandb's ``init``, ``log`` and ``finish``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError, extra_for


@dataclass(frozen=True)
class Tracker:
    """Callbacks that log metrics."""

    log: Callable[[Mapping[str, float], int], None]
    """Records the values of one step."""
    finish: Callable[[], None]
    """Writes out what is pending."""


Start = Callable[[Path, Mapping[str, Any]], Tracker]
"""Begins tracking, given the run's directory and configuration."""


def find_tracker(name: str) -> Start:
    """A tracker by name: ``tensorboard``, or a module such as ``wandb`` or ``trackio``. Nothing starts yet."""
    return _find_tensorboard() if name == "tensorboard" else _find_wandb_shaped(name)


def _find_tensorboard() -> Start:
    with extra_for("to track a run with TensorBoard", "tensorboard", "track"):
        from torch.utils.tensorboard import SummaryWriter

    def start(directory: Path, _: Mapping[str, Any]) -> Tracker:
        writer = SummaryWriter(str(directory / "tensorboard"))

        def log(values: Mapping[str, float], step: int) -> None:
            for name, value in values.items():
                writer.add_scalar(name, value, step)

        return Tracker(log, writer.close)

    return start


def _find_wandb_shaped(name: str) -> Start:
    try:
        module = import_module(name)
    except (ImportError, TypeError, ValueError) as error:  # names such as ".x" and ""
        raise WhatwhereError(
            f"tracking with {name!r} was asked for, and no such module is installed. "
            f"Use tensorboard, or install {name} (any module with init, log and finish will do)."
        ) from error
    missing = [method for method in ("init", "log", "finish") if not hasattr(module, method)]
    if missing:
        raise WhatwhereError(
            f"the module {name!r} cannot track a run: it has no {missing[0]}(). It needs init, log and finish."
        )

    def start(directory: Path, config: Mapping[str, Any]) -> Tracker:
        module.init(project="whatwhere", name=directory.name, config=dict(config))
        return Tracker(lambda values, step: module.log(dict(values), step=step), module.finish)

    return start
