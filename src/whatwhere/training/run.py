"""A run directory: the configuration, metrics and checkpoints of a training, and the states to resume from.

    config.json      the recipe and the environment
    metrics.csv      the learning curves, a line per checkpoint
    test.csv         accuracy on the test split, once it has been measured
    checkpoints/     step-00000040.safetensors ...
    resume/          the two latest states
    manifest.json    the checksums of the first three (:mod:`whatwhere.store.manifest`)

Studies of a run keep their results in folders of their own beside these.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whatwhere.errors import WhatwhereError, WhatwhereWarning
from whatwhere.machine import memory
from whatwhere.model.checkpoint import load_model, save_model, set_weights
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel.build import kernels
from whatwhere.store import locks
from whatwhere.store.documents import read_json
from whatwhere.store.files import TEMPORARY_SUFFIX, remove_file
from whatwhere.store.manifest import Manifest, fingerprint
from whatwhere.store.tables import from_frame, read_csv, to_frame, write_csv
from whatwhere.store.tensors import load_tensors, save_tensors
from whatwhere.tasks.task import Task
from whatwhere.training.config import TrainingConfig
from whatwhere.training.environment import environment

_STATES_KEPT = 2
_TRAIN = "train"
_CURVES = ("step", "sequences", "loss", "lr", "seconds", "accuracy")
"""Columns of the metrics, besides the accuracy of each hop class."""
CONFIG, METRICS, TEST = "config.json", "metrics.csv", "test.csv"


@dataclass(frozen=True)
class State:
    """Everything that later steps depend on, besides the configuration."""

    step: int
    arrays: dict[str, np.ndarray]
    """Weights (``model.``) and moments (``adam.``)."""
    counters: dict[str, Any]
    """Seconds so far, and the losses since the last evaluation."""

    def below(self, prefix: str) -> dict[str, np.ndarray]:
        """The arrays whose names have a prefix, without it."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class TestAccuracy:
    """Accuracy of the last model on one hop class of the test split."""

    step: int
    hop: int
    accuracy: float
    sequences: int

    def __post_init__(self) -> None:
        if not (0 <= self.accuracy <= 1 and self.sequences > 0 and self.hop > 0):
            raise WhatwhereError(f"expected an accuracy from 0 to 1 of 1 or more sequences, got {self}; train again.")


class Run:
    """One run directory, which need not exist yet."""

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self.manifest = Manifest(self.directory)

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.directory / CONFIG).is_file()

    @cached_property
    def config(self) -> TrainingConfig:
        """The training configuration; read once."""
        return TrainingConfig.from_dict(self.about().get("training"))

    def about(self) -> dict[str, Any]:
        """What ``config.json`` holds: the recipe, the environment, and where the model came from."""
        self.require()
        self.manifest.get(CONFIG, "the run's configuration")
        return read_json(self.directory / CONFIG, "the run's configuration")

    @property
    def owner(self) -> str:
        """The fingerprint of its configuration, stored in checkpoints and states."""
        return fingerprint(self.config.to_dict())

    @contextmanager
    def held(self, work: str) -> Iterator[None]:
        """Locks the run against other processes that do the same work.

        Raises:
            WhatwhereError: one does already, or memory does not suffice to train.
        """
        self.require()
        if work == _TRAIN:
            _require_memory(self.config)
        with locks.hold(self.directory, work):
            yield

    def require(self) -> None:
        """Raises an error if the directory is not a run, or one of an older format."""
        if not self.exists:
            raise WhatwhereError(
                f"expected a run directory (one with a {CONFIG}), got {self.directory}. "
                "Make one with: whatwhere train number --out RUN"
            )
        if not self.manifest.exists:
            raise WhatwhereError(
                f"{self.directory} has a {CONFIG} and no manifest.json: it was made by whatwhere 0.1, which this "
                "version does not read, or it was damaged. Train it again in another directory."
            )

    @property
    def task(self) -> Task:
        """What it is trained on."""
        return self.config.task

    def create(self, config: TrainingConfig, origin: dict[str, Any] | None = None) -> None:
        """Creates a run; ``origin`` is added to ``config.json``: the source of a model that was not trained here."""
        if self.exists:
            raise WhatwhereError(
                f"{self.directory} holds a run already. Continue it with --resume, or choose another directory."
            )
        if self.directory.exists() and (not self.directory.is_dir() or self._contents()):
            raise WhatwhereError(f"{self.directory} exists and is not empty; choose a new directory for the run.")
        _require_memory(config)
        with locks.hold(self.directory, _TRAIN):
            if self._contents():
                raise WhatwhereError(f"{self.directory} was taken by another process a moment ago; choose another.")
            made_with = {**environment(), "kernels": kernels().library is not None}
            content = {"training": config.to_dict(), "environment": made_with, **(origin or {})}
            self.manifest.begin("run", config.decisive(), {}, held=True)
            self.manifest.put(CONFIG, (json.dumps(content, indent=2) + "\n").encode())

    def _contents(self) -> list[str]:
        """The files in the directory, without locks and what a killed process left of creating a run."""
        begun = self.manifest.path.name if self.manifest.exists and not self.manifest.record.files else ""
        found = [path for path in self.directory.iterdir() if not path.name.startswith(".")]
        return [path.name for path in found if path.name != begun and path.suffix != TEMPORARY_SUFFIX]

    @property
    def ended(self) -> bool:
        """Whether training has reached its last step."""
        state, _ = self.latest_state()
        return state is not None and state.step >= self.config.schedule.steps

    def steps(self) -> list[int]:
        """The sorted steps of the checkpoints."""
        found = (self.directory / "checkpoints").glob("step-*.safetensors")
        return sorted(int(path.stem.removeprefix("step-")) for path in found if path.stem[5:].isdigit())

    def checkpoint_path(self, step: int) -> Path:
        """The path of the checkpoint of a step."""
        return self.directory / "checkpoints" / f"step-{step:08d}.safetensors"

    def load(self, step: int | None = None) -> GPTJ:
        """The model of a step. By default the last; if it is damaged, the latest intact one, with a warning."""
        self.require()
        there = self.steps()
        if not there:
            raise WhatwhereError(f"{self.directory} has no checkpoints yet; train it first (--resume continues a run).")
        if step is not None and step not in there:
            raise WhatwhereError(
                f"{self.directory} has no checkpoint of step {step}; it has {len(there)}, "
                f"from step {there[0]} to step {there[-1]}."
            )
        try:
            return self._load(there[-1] if step is None else step)
        except WhatwhereError as error:
            if step is not None:
                raise
            return self._last_whole(there, error)

    def _load(self, step: int) -> GPTJ:
        return load_model(self.checkpoint_path(step), {"step": step, "run": self.owner})

    def _last_whole(self, there: list[int], damage: WhatwhereError) -> GPTJ:
        """A substitute for a damaged last checkpoint: the state of the same step, or an earlier checkpoint."""
        state, _ = self.latest_state()
        if state is not None and state.step == there[-1]:
            model = GPTJ(self.config.model)
            set_weights(model, state.below("model."), self.directory / "resume")
            model.task = self.task
            instead = f"The state of step {state.step} has the same model."
            warnings.warn(f"{damage} {instead}", WhatwhereWarning, stacklevel=4)
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
        """Saves a checkpoint."""
        save_model(self.checkpoint_path(step), model, {"step": step, "run": self.owner})

    def metrics(self) -> list[dict[str, float]]:
        """The learning curves, a line per checkpoint; none before the first."""
        if not self.manifest.has(METRICS):
            return []
        content = self.manifest.get(METRICS, "the run's metrics")
        try:
            frame = pd.read_csv(io.BytesIO(content), dtype="float64")
        except (ValueError, OverflowError) as error:
            raise WhatwhereError(f"{self.directory / METRICS} is damaged: {error!s:.200}.") from error
        if missing := {*_CURVES} - {*frame.columns}:
            raise WhatwhereError(f"{self.directory / METRICS}: expected the column {min(missing)!r}, got none.")
        shares = frame.filter(like="accuracy")
        whole = bool((frame["step"].to_numpy() % 1 == 0).all())
        if not (whole and (shares.isna() | ((shares >= 0) & (shares <= 1))).all(axis=None)):
            raise WhatwhereError(
                f"{self.directory / METRICS}: expected whole steps and accuracies from 0 to 1, got others."
            )
        return frame.to_dict("records")  # pyright: ignore[reportReturnType]

    def write_metrics(self, rows: Sequence[dict[str, float]]) -> None:
        """Replaces the learning curves."""
        self.manifest.put(METRICS, write_csv(pd.DataFrame(rows)))

    def test(self) -> list[TestAccuracy]:
        """Accuracy of the last model on the test split; none if it was not measured, or of an earlier model."""
        if not self.manifest.has(TEST):
            return []
        content = self.manifest.get(TEST, "the run's test result")
        rows = from_frame(TestAccuracy, read_csv(TestAccuracy, content, f"the test result at {self.directory / TEST}"))
        return rows if rows and rows[0].step in self.steps()[-1:] else []

    def write_test(self, rows: Sequence[TestAccuracy]) -> None:
        """Saves the accuracy on the test split."""
        self.manifest.put(TEST, write_csv(to_frame(TestAccuracy, rows)))

    def save_state(self, state: State) -> None:
        """Saves a state, and removes all but the two latest."""
        about = {"step": state.step, "run": self.owner, "counters": state.counters}
        path = self.directory / "resume" / f"step-{state.step:08d}.safetensors"
        save_tensors(path, state.arrays, {"state": json.dumps(about)})
        for old in self._states()[:-_STATES_KEPT]:
            remove_file(old)

    def _states(self) -> list[Path]:
        return sorted((self.directory / "resume").glob("step-*.safetensors"))

    def latest_state(self) -> tuple[State | None, list[str]]:
        """The newest intact state and the problems of newer ones; None if training must start from the beginning."""
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
            state = State(int(about["step"]), arrays, {**about["counters"]})  # a list of pairs is no description
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise WhatwhereError(f"the state of the run at {path} lacks its description.") from error
        if about.get("run") != self.owner or path.stem != f"step-{state.step:08d}":
            raise WhatwhereError(f"the state of the run at {path} is that of another run or step.")
        return state


def _require_memory(config: TrainingConfig) -> None:
    size = f"{config.model.parameters:,} weights, {config.dataset_size:,} sequences and batches of {config.batch:,}"
    memory.require(config.memory, f"training with {size}")
