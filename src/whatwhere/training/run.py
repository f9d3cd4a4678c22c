"""A run is a directory that a person can read (DESIGN, section 6), and from which training goes on bit for bit.

    RUN/config.json        everything needed to repeat it, with versions and the revision of the code
    RUN/metrics.csv        one line per checkpoint
    RUN/checkpoints/       step-00000500.safetensors, each a model of its own
    RUN/resume/            the two latest states: weights, optimiser, counters

Every file is bound to its run (the configuration decides all of them) and each model and state to its step. A damaged
state is passed over for the one before it; so is a damaged last model, unless the state of its step still has it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError, WhatwhereWarning
from whatwhere.machine import memory
from whatwhere.model.checkpoint import load_model, save_model, set_weights
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel.build import kernels
from whatwhere.store import lock, seal
from whatwhere.store.storage import (
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
from whatwhere.training.environment import environment

_STATES_KEPT = 2
_TRAIN = "train"


@dataclass(frozen=True)
class State:
    """All that a later step depends on."""

    step: int
    arrays: dict[str, np.ndarray]
    """Weights (``model.``), moments (``adam.``) and the latest attention (``attention``)."""
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
        return TrainingConfig.from_dict(self._training())

    @property
    def owner(self) -> str:
        """What the files of this run are sealed with: a name for its configuration."""
        return seal.owner(self._training())

    def _training(self) -> dict[str, Any]:
        self.require()
        content = read_json(self._config_path, "the run's configuration")
        if "training" not in content or not isinstance(content["training"], dict):
            raise WhatwhereError(f"{self._config_path} has no part 'training'; it is not a run's configuration.")
        return content["training"]

    @contextmanager
    def held(self, what: str) -> Iterator[None]:
        """Keeps other processes from doing the same work (``train``, ``score``) on this run.

        Raises:
            WhatwhereError: one does already.
        """
        self.require()
        if what == _TRAIN:
            _require_memory(self.config)
        with lock.only_one(self.directory, what):
            yield

    def require(self) -> None:
        """Refuses a directory that is no run, or no longer.

        Raises:
            WhatwhereError: it has no configuration.
        """
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
        if self.directory.exists() and (not self.directory.is_dir() or self._contents()):
            raise WhatwhereError(f"{self.directory} exists and is not empty; choose a new directory for the run.")
        _require_memory(config)
        with lock.only_one(self.directory, _TRAIN):
            if self._contents():
                raise WhatwhereError(f"{self.directory} was taken by another process a moment ago; choose another.")
            made_with = {**environment(), "kernels": kernels().library is not None}
            write_json(self._config_path, {"training": config.to_dict(), "environment": made_with})

    def _contents(self) -> list[str]:
        """What is in the directory, but for locks."""
        return [path.name for path in self.directory.iterdir() if path.suffix != lock.SUFFIX]

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
        """The model of a step, the last one by default; if that is damaged, with a warning, the best that is left.

        Raises:
            WhatwhereError: there is no such checkpoint, or it is damaged.
        """
        self.require()
        there = self.steps()
        if not there:
            raise WhatwhereError(f"{self.directory} has no checkpoints yet; train it first (--resume continues a run).")
        if step is not None:
            if step not in there:
                raise WhatwhereError(
                    f"{self.directory} has no checkpoint of step {step}; it has {len(there)}, "
                    f"from step {there[0]} to step {there[-1]}."
                )
            return self._load(step)
        try:
            return self._load(there[-1])
        except WhatwhereError as error:
            return self._last_whole(there, error)

    def _load(self, step: int) -> GPTJ:
        return load_model(self.checkpoint_path(step), {"step": step, "run": self.owner})

    def _last_whole(self, there: list[int], damage: WhatwhereError) -> GPTJ:
        """The last model when its file is damaged: out of the state of the same step, or the model before it."""
        state, _ = self.latest_state()
        if state is not None and state.step == there[-1]:
            config = self.config
            model = GPTJ(config.model)
            set_weights(model, _weights_in(state), self.directory / "resume")
            model.task = config.task
            warnings.warn(
                f"{damage} The state of step {state.step} has the same model.", WhatwhereWarning, stacklevel=4
            )
            return model.requires_grad_(False)
        for step in reversed(there[:-1]):
            try:
                model = self._load(step)
            except WhatwhereError:
                continue
            warnings.warn(f"{damage} Taking the model of step {step} instead.", WhatwhereWarning, stacklevel=4)
            return model
        raise damage

    def save_checkpoint(self, step: int, model: GPTJ) -> None:
        """Keeps a model."""
        save_model(self.checkpoint_path(step), model, {"step": step, "run": self.owner})

    def metrics(self) -> list[dict[str, float]]:
        """The learning curves, a line per checkpoint."""
        rows = read_csv(self.metrics_path, "the run's metrics", ["step", "loss", "accuracy"], self.owner)
        try:
            return [{key: float(value or "nan") for key, value in row.items()} for row in rows]
        except ValueError as error:
            raise WhatwhereError(f"{self.metrics_path} is damaged: {error}.") from error

    def write_metrics(self, rows: list[dict[str, float]]) -> None:
        """Replaces the learning curves."""
        columns = list(rows[0])
        write_csv(self.metrics_path, columns, [[row[column] for column in columns] for row in rows], self.owner)

    def save_state(self, state: State) -> None:
        """Keeps what is needed to go on, and drops all but the two latest."""
        about = {"step": state.step, "run": self.owner, "counters": state.counters}
        path = self.directory / "resume" / f"step-{state.step:08d}.safetensors"
        save_tensors(path, state.arrays, {"state": json.dumps(about)})
        for old in self._states()[:-_STATES_KEPT]:
            remove_file(old)

    def _states(self) -> list[Path]:
        return sorted((self.directory / "resume").glob("step-*.safetensors"))

    def latest_state(self) -> tuple[State | None, list[str]]:
        """The newest whole state, and what was wrong with newer ones; None when training must begin anew."""
        problems = []
        for path in reversed(self._states()):
            try:
                return self._state(path), problems
            except WhatwhereError as error:
                problems.append(str(error))
        return None, problems

    def _state(self, path: Path) -> State:
        arrays, notes = load_tensors(path, "the state of the run")
        try:
            about = json.loads(notes["state"])
            state = State(int(about["step"]), arrays, dict(about["counters"]))
        except (KeyError, TypeError, ValueError) as error:
            raise WhatwhereError(f"the state of the run at {path} lacks its description.") from error
        if about.get("run") != self.owner or path.stem != f"step-{state.step:08d}":
            raise WhatwhereError(f"the state of the run at {path} is that of another run or step.")
        return state


def _require_memory(config: TrainingConfig) -> None:
    size = f"{config.model.parameters:,} weights, {config.dataset_size:,} sequences and batches of {config.batch:,}"
    memory.require(config.memory, f"training with {size}")


def _weights_in(state: State) -> dict[str, np.ndarray]:
    prefix = "model."
    return {name.removeprefix(prefix): array for name, array in state.arrays.items() if name.startswith(prefix)}
