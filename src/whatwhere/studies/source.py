"""Where the numbers of the claims lie: one reproduction on disk, or the part of it that one seed made."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_csv, read_json
from whatwhere.studies.dynamics.data import Dynamics, read_dynamics
from whatwhere.studies.mechanism.ablation import Ablation
from whatwhere.studies.results import Results
from whatwhere.theory.verification import RESULT
from whatwhere.training.config import TrainingConfig
from whatwhere.training.run import Run
from whatwhere.work.plan import TASKS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")

LEARNED = 0.9
"""The accuracy from which a hop class counts as solved."""


class NotTested(Exception):
    """A claim cannot be judged from what is there; the message says why.

    Args:
        why: for people.
        missing: whether it is for want of results.
    """

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing


class Source:
    """The results of one reproduction.

    Args:
        directory: holds ``number``, ``letter``, ``theory``, ``llm``, as far as they were made.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._configs: dict[str, TrainingConfig] = {}
        self._metrics: dict[str, list[dict[str, float]]] = {}
        self._dynamics: dict[str, Dynamics] = {}
        self._tables: dict[tuple[str, str, str], Any] = {}

    def seeds(self) -> list[Source]:
        """The same claims can be asked of every other seed that was trained."""
        own = {str(self.config(task).seed) for task in TASKS if Run(self.directory / task).exists}
        there = sorted(path for path in self.directory.glob("seeds/*") if path.is_dir() and path.name not in own)
        return [Source(path) for path in there]

    def config(self, task: str) -> TrainingConfig:
        """How a model was trained."""
        if task not in self._configs:
            self._need(f"{task}/config.json", f"whatwhere train {task} --out {self.directory / task}")
            self._configs[task] = Run(self.directory / task).config
        return self._configs[task]

    def metrics(self, task: str) -> list[dict[str, float]]:
        """The learning curves of a model."""
        if task not in self._metrics:
            self.config(task)
            self._need(f"{task}/metrics.csv", f"whatwhere train {task} --out {self.directory / task}")
            self._metrics[task] = Run(self.directory / task).metrics()
        if not self._metrics[task]:
            raise NotTested(f"{task}/metrics.csv holds no evaluation yet.", missing=True)
        return self._metrics[task]

    def dynamics(self, task: str) -> Dynamics:
        """A model along its training: accuracy and scores."""
        if task not in self._dynamics:
            self.metrics(task)
            self._need(f"{task}/scores.csv", f"whatwhere score {self.directory / task}")
            self._dynamics[task] = read_dynamics(self.directory / task)
        return self._dynamics[task]

    def learned(self, task: str) -> Dynamics:
        """The same, of a model that has learned its task: statements about solutions say nothing of other models."""
        last = self.metrics(task)[-1]
        classes = [value for name, value in last.items() if name.startswith("accuracy_hop")]
        if not min(classes, default=0.0) >= LEARNED:
            raise NotTested(
                f"the {task} model has not learned its task: its worst hop class ends at {min(classes):.2f}, and "
                f"{LEARNED} is asked of each."
            )
        return self.dynamics(task)

    def table(self, task: str, analysis: str, name: str, kind: type[Row]) -> list[Row]:
        """One table of an analysis of a model."""
        key = task, analysis, name
        if key not in self._tables:
            self._need(f"{task}/{analysis}/{name}.csv", f"whatwhere {analysis} {self.directory / task}")
            self._tables[key] = Results(self.directory / task / analysis).read(name, kind)
        return self._tables[key]

    def needed_heads(self, task: str) -> list[tuple[int, int]]:
        """The heads (layer, head) whose ablation hurts some hop class: the model needs them."""
        rows = self.table(task, "mechanism", "ablation", Ablation)
        return sorted({(row.layer, row.head) for row in rows if row.hurts})

    @cached_property
    def theory(self) -> dict[str, Any]:
        """What the checks of the theorems found."""
        self._need(f"theory/{RESULT}", f"whatwhere theory --out {self.directory / 'theory'}")
        return read_json(self.directory / "theory" / RESULT, "the checks of the theorems")

    def check(self, name: str) -> dict[str, Any]:
        """One check of the theorems."""
        found = [check for check in self.theory.get("checks", []) if check.get("name") == name]
        if not found:
            raise NotTested(
                f"theory/{RESULT} has no check named {name}; it is from an earlier version. Make it anew with: "
                f"whatwhere theory --out {self.directory / 'theory'}",
                missing=True,
            )
        return found[0]

    def curve(self, name: str) -> list[dict[str, float]]:
        """A table of numbers that the theory left."""
        self._need(f"theory/{name}", f"whatwhere theory --out {self.directory / 'theory'}")
        path = self.directory / "theory" / name
        try:
            return [{key: float(cell or "nan") for key, cell in row.items()} for row in read_csv(path, "a curve", [])]
        except ValueError as error:
            raise WhatwhereError(f"{path} is damaged: {error}. Make it anew with: whatwhere theory") from error

    def _need(self, path: str, made_by: str) -> None:
        if not (self.directory / path).is_file():
            raise NotTested(f"{path} is not there. Make it with: {made_by}", missing=True)
