"""A run is a directory that a person can read (DESIGN, section 6), and from which training goes on bit for bit.

    RUN/config.json        everything needed to repeat it, with versions and the revision of the code
    RUN/metrics.csv        one line per checkpoint
    RUN/checkpoints/       step-00000500.safetensors, each a model of its own
    RUN/resume/            the two latest states: weights, optimiser, generator, counters

A damaged state is found by its checksum and the one before it is used.
"""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model, save_model
from whatwhere.model.gptj import GPTJ
from whatwhere.storage import (
    TEMPORARY_SUFFIX,
    load_tensors,
    read_csv,
    read_json,
    remove_file,
    save_tensors,
    write_csv,
    write_json,
)
from whatwhere.tasks.task import Task
from whatwhere.training.config import TrainingConfig

_STATES_KEPT = 2


@dataclass(frozen=True)
class State:
    """All that a later step depends on."""

    step: int
    arrays: dict[str, np.ndarray]
    """Weights (``model.``), moments (``adam.``) and the generator's state (``generator``)."""
    counters: dict[str, Any]
    """Small facts: seconds so far, evaluations at which all was learned, where decay began."""


class Run:
    """One run directory.

    Args:
        directory: the directory; it need not exist yet.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self._config_path.is_file()

    @property
    def _config_path(self) -> Path:
        return self.directory / "config.json"

    @property
    def metrics_path(self) -> Path:
        """The learning curves."""
        return self.directory / "metrics.csv"

    @property
    def scores_path(self) -> Path:
        """The scores of every checkpoint, once ``whatwhere score`` has run."""
        return self.directory / "scores.csv"

    @property
    def config(self) -> TrainingConfig:
        """How it is trained.

        Raises:
            WhatwhereError: there is no run here, or its configuration is damaged.
        """
        self._require()
        content = read_json(self._config_path, "the run's configuration")
        if "training" not in content or not isinstance(content["training"], dict):
            raise WhatwhereError(f"{self._config_path} has no part 'training'; it is not a run's configuration.")
        return TrainingConfig.from_dict(content["training"])

    def _require(self) -> None:
        if not self.exists:
            raise WhatwhereError(
                f"a run directory (one with a config.json) was expected, and {self.directory} is not one. "
                "Make one with: whatwhere train number --out RUN"
            )

    @property
    def task(self) -> Task:
        """What it is trained on."""
        return self.config.task

    def create(self, config: TrainingConfig) -> None:
        """Begins a run.

        Raises:
            WhatwhereError: there is something here already.
        """
        if self.exists:
            raise WhatwhereError(
                f"{self.directory} holds a run already. Continue it with --resume, or choose another directory."
            )
        if self.directory.exists() and (not self.directory.is_dir() or any(self.directory.iterdir())):
            raise WhatwhereError(f"{self.directory} exists and is not empty; choose a new directory for the run.")
        write_json(self._config_path, {"training": config.to_dict(), "environment": environment()})

    @property
    def ended(self) -> bool:
        """Whether training has reached its last step."""
        state, _ = self.latest_state()
        return state is not None and state.step >= self.config.schedule.end(state.counters["decay_from"])

    def steps(self) -> list[int]:
        """The steps whose checkpoints are there, in order."""
        found = (self.directory / "checkpoints").glob("step-*.safetensors")
        return sorted(int(path.stem.removeprefix("step-")) for path in found if path.stem[5:].isdigit())

    def checkpoint_path(self, step: int) -> Path:
        """Where the model of a step is kept."""
        return self.directory / "checkpoints" / f"step-{step:08d}.safetensors"

    def load(self, step: int | None = None) -> GPTJ:
        """The model of a step, the last one by default.

        Raises:
            WhatwhereError: there is no such checkpoint, or it is damaged.
        """
        self._require()
        there = self.steps()
        if not there:
            raise WhatwhereError(f"{self.directory} has no checkpoints yet; train it first (--resume continues a run).")
        if step is not None and step not in there:
            raise WhatwhereError(
                f"{self.directory} has no checkpoint of step {step}; it has {len(there)}, "
                f"from step {there[0]} to step {there[-1]}."
            )
        return load_model(self.checkpoint_path(there[-1] if step is None else step))

    def save_checkpoint(self, step: int, model: GPTJ) -> None:
        """Keeps a model."""
        save_model(self.checkpoint_path(step), model, {"step": step})

    def metrics(self) -> list[dict[str, float]]:
        """The learning curves, a line per checkpoint."""
        rows = read_csv(self.metrics_path, "the run's metrics", ["step", "loss", "accuracy"])
        try:
            return [{key: float(value or "nan") for key, value in row.items()} for row in rows]
        except ValueError as error:
            raise WhatwhereError(f"{self.metrics_path} is damaged: {error}.") from error

    def write_metrics(self, rows: list[dict[str, float]]) -> None:
        """Replaces the learning curves."""
        columns = list(rows[0])
        write_csv(self.metrics_path, columns, [[row[column] for column in columns] for row in rows])

    def save_state(self, state: State) -> None:
        """Keeps what is needed to go on, and drops all but the two latest."""
        path = self.directory / "resume" / f"step-{state.step:08d}.safetensors"
        save_tensors(path, state.arrays, {"counters": json.dumps(state.counters)})
        for old in self._states()[:-_STATES_KEPT]:
            remove_file(old)
        for partial in self.directory.glob(f"*/*{TEMPORARY_SUFFIX}"):
            partial.unlink(missing_ok=True)

    def _states(self) -> list[Path]:
        return sorted((self.directory / "resume").glob("step-*.safetensors"))

    def latest_state(self) -> tuple[State | None, list[str]]:
        """The newest whole state, and what was wrong with newer ones; None when training must begin anew."""
        problems = []
        for path in reversed(self._states()):
            try:
                arrays, notes = load_tensors(path, "the state of the run")
                return State(int(path.stem.removeprefix("step-")), arrays, json.loads(notes["counters"])), problems
            except (WhatwhereError, KeyError, ValueError) as error:
                problems.append(str(error))
        return None, problems


def environment() -> Mapping[str, Any]:
    """The versions, machine and revision that a result was made with."""
    import torch

    return {
        "whatwhere": version("whatwhere"),
        "revision": _revision(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _revision() -> str | None:
    """The git revision of the code, where it runs from a clone."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None
