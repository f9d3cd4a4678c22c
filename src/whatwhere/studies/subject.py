"""The subject of a study: a trained model, a run, any rotary model, a sweep, or none (theory).

A subject opens what the user named: it gives the object to measure, its name, fingerprints for the manifest, and the
default directory of results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from whatwhere.errors import WhatwhereError

SWEEP_TABLE = "sweep.csv"
"""In the directory of a sweep: one line per item."""
ALONE = "analysis-"
"""Prefix of the folder of results on a model that is not a run directory."""
SHIPPED = "shipped"
"""The word for the tables of a sweep that come with a study."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An opened subject."""

    item: Any
    """A model, a run, or None."""
    name: str
    """For messages: ``letter``, ``runs/number``."""
    inputs: Mapping[str, Any]
    """Fingerprints for the manifest: other inputs, other results."""
    home: Path
    """Where results go by default, in a folder named after the study."""
    grows: bool = False
    """Whether it may grow: earlier results are then out of date and not an error."""

    @property
    def label(self) -> str:
        """A short name: that of its folder among those of other models."""
        return self.home.resolve().name.removeprefix(ALONE)


@dataclass(frozen=True)
class Subject(ABC):
    """A kind of subject."""

    argument: str | None
    """The name of the command's argument; None if there is none."""
    help: str
    """What may be given there."""
    part: Literal["run", "once"] | None
    """Its part of a reproduction: measured on every run, once, or never."""
    steps: bool = False
    """Whether a checkpoint of a run may be chosen by its step."""
    home: str = "the working directory"
    """The default directory of results, as text."""

    @abstractmethod
    def open(self, source: Any, step: int | None = None) -> Opened:
        """Opens a subject by name or path, or takes a loaded object.

        Raises:
            WhatwhereError: it does not exist, or it cannot be measured.
        """


class _Nothing(Subject):
    """The theory: it needs no model."""

    def open(self, source: Any = None, step: int | None = None) -> Opened:
        """Nothing to open."""
        if source is not None or step is not None:
            raise WhatwhereError(f"this study needs no model: expected none, got {source!r}.")
        return Opened(None, "theory", {}, Path())


class _Trained(Subject):
    """A model of ours that was trained on a task."""

    def open(self, source: Any, step: int | None = None) -> Opened:
        """Loads the model; a run gives its last checkpoint, or that of a step."""
        from whatwhere.model.checkpoint import check_finite, model_fingerprint
        from whatwhere.model.gptj import GPTJ
        from whatwhere.zoo.load import load

        _check_step(source, step)
        model = source if isinstance(source, GPTJ) else load(source, step)
        name = "model" if isinstance(source, GPTJ) else _name(source)
        if not isinstance(model, GPTJ) or model.task is None:
            raise WhatwhereError(
                f"expected a model that was trained on a task of ours, got {name}. "
                "Train one with: whatwhere train number --out RUN"
            )
        check_finite(model, name)
        inputs = {"model": model_fingerprint(model), "task": model.task.to_dict()}
        return Opened(model, name, inputs, _home(source))


class _OfRun(Subject):
    """A run with its checkpoints and its learning curves."""

    def open(self, source: Any, step: int | None = None) -> Opened:
        """Opens the run."""
        from whatwhere.store.manifest import fingerprint
        from whatwhere.training.run import Run
        from whatwhere.zoo.load import SHIPPED

        if step is not None:
            raise WhatwhereError(f"this study is about a whole run: expected no step, got {step}.")
        if not isinstance(source, str | Path | Run):
            raise WhatwhereError(
                f"expected a run directory, as whatwhere train makes it, got a {type(source).__name__}; name one."
            )
        run = source if isinstance(source, Run) else Run(Path(source))
        if not run.exists and str(source) in SHIPPED:
            raise WhatwhereError(
                f"expected a run directory, got the shipped model {source}, which comes without its checkpoints. "
                "Its scores along training come with: whatwhere reproduce --from-zoo --out DIR"
            )
        inputs = {"run": fingerprint(run.config.decisive()), "task": run.config.task.to_dict()}
        return Opened(run, str(run.directory), inputs, run.directory)


class _Rotary(Subject):
    """Any model whose attention can be read: ours, a transformers model, a GGUF file."""

    def open(self, source: Any, step: int | None = None) -> Opened:
        """Loads the model and makes it traceable."""
        from torch import nn

        from whatwhere.model.checkpoint import check_finite
        from whatwhere.trace.traceable import traceable, weights_fingerprint
        from whatwhere.zoo.load import load

        _check_step(source, step)
        model = traceable(load(source, step) if isinstance(source, str | Path) else source)
        name = _name(source) if isinstance(source, str | Path) else model.name
        if isinstance(inner := getattr(model, "model", None), nn.Module):
            check_finite(inner, name)
        return Opened(model, name, {"model": weights_fingerprint(model)}, _home(source))


@dataclass(frozen=True)
class _OfSweep(Subject):
    """Many runs in one table, or the tables of such runs that come with the study."""

    shipped: Path | None = None
    """The tables that come with the study."""

    def open(self, source: Any, step: int | None = None) -> Opened:
        """Finds the directory of the tables; its fingerprint changes with the tables and with each finished item."""
        from whatwhere.store.files import read_bytes
        from whatwhere.store.manifest import NAME, fingerprint

        if step is not None:
            raise WhatwhereError(f"this study is about whole runs: expected no step, got {step}.")
        shipped = source is None or str(source) == SHIPPED
        directory = self.shipped if shipped else Path(str(source))
        if directory is None or not (shipped or (directory / SWEEP_TABLE).is_file()):
            words = ", or shipped" if self.shipped else ""
            raise WhatwhereError(
                f"expected the directory of a sweep (one with a {SWEEP_TABLE}){words}, got {source}. Make one with: "
                "whatwhere sweep FILE --out DIR"
            )
        made_from = sorted(path for where in ("*.csv", f"items/*/{NAME}", f"items/*/*/{NAME}")
                           for path in directory.glob(where))  # fmt: skip
        contents = [read_bytes(path, "a file of the sweep").decode(errors="replace") for path in made_from]
        home = Path(ALONE + SHIPPED) if shipped else directory
        return Opened(
            directory, SHIPPED if shipped else str(source), {"sweep": fingerprint(contents)}, home, grows=True
        )


NOTHING = _Nothing(None, "", "once")
TRAINED = _Trained(
    "model",
    "A shipped model (number, letter, letter-control), a run directory or a checkpoint file.",
    "run",
    steps=True,
    home=f"the run itself, or {ALONE}NAME",
)
RUN = _OfRun("run", "A run directory, as `whatwhere train` makes it.", "run", home="the run itself")
ROTARY = _Rotary(
    "model", "A shipped model, a run, a checkpoint, a model directory, a hub name or a GGUF file.", "run", steps=True,
    home=TRAINED.home,
)  # fmt: skip
LANGUAGE_MODEL = replace(
    ROTARY, help="A model directory, a hub name or a GGUF file.", part=None, steps=False, home=f"{ALONE}NAME"
)
SWEEP = _OfSweep(
    "sweep", "A directory that `whatwhere sweep` made, or shipped: the tables that come with the package.", None,
    home=f"the sweep itself, or {ALONE}{SHIPPED}",
)  # fmt: skip


def _check_step(source: Any, step: int | None) -> None:
    """Raises an error if a step is given for a loaded model."""
    if step is not None and not isinstance(source, str | Path):
        raise WhatwhereError(
            f"expected a run directory, since step {step} was asked for; got a loaded {type(source).__name__}."
        )


def _name(source: str | Path) -> str:
    """The name as given; a directory with the name of a shipped model gets ``./``."""
    from whatwhere.zoo.load import SHIPPED, is_shipped

    name = str(source)
    return f"./{name}" if name in SHIPPED and not is_shipped(name) else name


def _home(source: Any) -> Path:
    """A run keeps its own results; those of other models go to ``analysis-NAME`` in the working directory."""
    from whatwhere.training.run import Run

    if not isinstance(source, str | Path):
        return Path("analysis")
    path = Path(source)
    run = Run(path)  # a transformers model also has a config.json, but no manifest
    name = path.stem if path.suffix in (".safetensors", ".gguf") else path.name  # a name such as Qwen2.5-0.5B is whole
    return path if run.exists and run.manifest.exists else Path(f"{ALONE}{name}")
