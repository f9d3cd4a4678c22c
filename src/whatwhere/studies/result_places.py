"""Finds the results of studies: in a run, in the folders of a reproduction, or in any other folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.manifest import Manifest
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.evidence import MODELS
from whatwhere.studies.results import Results
from whatwhere.training.run import Run


@dataclass(frozen=True)
class Place:
    """One folder that holds the results of studies."""

    path: Path
    model: str | None
    """``number``, ``letter``, ``letter-control``; None without a model."""
    seed: int | None = None
    """None for the first seed."""

    @property
    def label(self) -> str:
        """For names of files and figures."""
        return "" if self.model is None else self.model + ("" if self.seed is None else f"-{self.seed}")

    def results(self) -> Iterator[Results]:
        """The results of every study in the folder, which may itself be that of one study."""
        own = Manifest(self.path)
        if own.exists and own.record.kind in STUDIES:
            yield Results.open(study_named(own.record.kind), self.path, self.label or own.record.kind)
            return
        for name in STUDIES:
            if Manifest(self.path / name).exists:
                yield Results.open(study_named(name), self.path / name, self.label or name)


def places_in(directory: Path) -> list[Place]:
    """The directory itself, its models, the models of further seeds."""
    found = [Place(directory, Run(directory).task.name if Run(directory).exists else None)]
    found += [Place(directory / model, model) for model in MODELS if (directory / model).is_dir()]
    for seed in sorted(directory.glob("seeds/*")):
        if seed.name.isdecimal():
            found += [Place(seed / model, model, int(seed.name)) for model in MODELS if (seed / model).is_dir()]
    return found


def no_results(directory: Path) -> WhatwhereError:
    """The error for a directory without results."""
    command = f"dynamics {directory}" if Run(directory).exists else f"reproduce --out {directory}"
    return WhatwhereError(
        f"expected a reproduction, a run or the results of a study, got {directory} without results. "
        f"Make them with: whatwhere {command}"
    )


def is_reproduction(directory: Path) -> bool:
    """Whether a directory holds models with their results, rather than being a run itself."""
    return not Run(directory).exists and any(place.model for place in places_in(directory))
