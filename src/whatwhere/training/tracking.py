"""Optional company for ``metrics.csv``: TensorBoard, or any module with wandb's ``init``, ``log`` and ``finish``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from whatwhere.errors import MissingExtraError, WhatwhereError


@runtime_checkable
class Tracker(Protocol):
    """Takes numbers as they come."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Records the values of one step."""

    def finish(self) -> None:
        """Writes out what is pending."""


class _TensorBoard:
    def __init__(self, directory: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("tensorboard", "track", "to track a run with TensorBoard") from error
        self.writer = SummaryWriter(str(directory / "tensorboard"))

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def finish(self) -> None:
        self.writer.close()


class _WandbShaped:
    def __init__(self, module: str, directory: Path, config: Mapping[str, Any]) -> None:
        try:
            self.module = import_module(module)
        except ImportError as error:
            raise WhatwhereError(
                f"tracking with {module!r} was asked for, and no such module is installed. "
                f"Use tensorboard, or install {module} (any module with init, log and finish will do)."
            ) from error
        missing = [name for name in ("init", "log", "finish") if not hasattr(self.module, name)]
        if missing:
            raise WhatwhereError(
                f"the module {module!r} cannot track a run: it has no {missing[0]}(). It needs init, log and finish."
            )
        self.module.init(project="whatwhere", name=directory.name, config=dict(config))

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.module.log(dict(values), step=step)

    def finish(self) -> None:
        self.module.finish()


def open_tracker(name: str, directory: Path, config: Mapping[str, Any]) -> Tracker:
    """A tracker by name: ``tensorboard``, or a module such as ``wandb`` or ``trackio``.

    Raises:
        WhatwhereError: it is not installed, or is no tracker.
    """
    return _TensorBoard(directory) if name == "tensorboard" else _WandbShaped(name, directory, config)
