"""The specification of a sweep: a TOML or JSON file, checked completely before anything runs.

preset = "short"                  # any option of `whatwhere train` ...
task = ["number", "letter"]       # ... with one value, or a list of values to combine with all others
seed = [0, 1, 2]

models = ["number", "runs/*"]     # models that exist, to be measured as they are

[[grid]]                          # where not everything goes with everything: each grid on top of the lines above
task = "number"
symbols = [60, 120]

[measure.length]                  # which studies, with their settings; dynamics (or heads of models) by default
inputs = 300
"""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import parse, plain
from whatwhere.store.files import read_text
from whatwhere.studies import STUDIES, study_named
from whatwhere.training.config import TrainingConfig
from whatwhere.training.options import Options
from whatwhere.zoo.load import SHIPPED

MOST_ITEMS = 100_000
_LONGEST_NAME = 150
_OPTIONS = tuple(entry.name for entry in fields(Options))
_PARTS = ("models", "grid", "measure")
Measures = Mapping[str, Mapping[str, Any]] | None


@dataclass(frozen=True)
class Item:
    """One row of the table: a run to train and measure, or an existing model to measure."""

    name: str
    """The name of its directory, ``DIR/items/NAME``."""
    settings: Mapping[str, Any]
    """Its options and parameters, or the path of its model."""
    measures: Mapping[str, Mapping[str, Any]]
    """The studies and their settings."""
    config: Mapping[str, Any] | None = None
    """The configuration of the training; None for an existing model."""

    @property
    def training(self) -> TrainingConfig | None:
        """The parsed configuration."""
        return None if self.config is None else TrainingConfig.from_dict(self.config)

    def decisive(self) -> dict[str, Any]:
        """The settings that determine its results, as JSON values."""
        training = self.training
        parts = {
            "config": None if training is None else training.decisive(),
            "settings": self.settings,
            "measures": self.measures,
        }
        return plain(parts)


def read_sweep(path: Path) -> list[Item]:
    """The items of a specification, in order: from a file, or from a study that has one (``atlas``, ``preference``)."""
    if not path.exists() and str(path) in STUDIES:
        path = study_named(str(path)).sweep or path
    if not path.exists():
        own = ", ".join(name for name in STUDIES if study_named(name).sweep)
        raise WhatwhereError(
            f"expected the specification of a sweep, a TOML or JSON file, at {path}, got nothing there. Write one "
            f"(docs/sweeps.md shows how), or name a study that brings one: {own}."
        )
    content = _parse(path)
    measures = _measures(content.get("measure"), path)
    common = {key: value for key, value in content.items() if key not in _PARTS}
    grids = content.get("grid", [{}] if common else [])
    models = content.get("models", [])
    if not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
        raise WhatwhereError(f"each grid of {path} should be a table of its own, headed [[grid]].")
    if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
        raise WhatwhereError(f"models in {path}: expected a list of names and paths, got {models!r:.80}.")
    items: dict[str, Item] = {}
    made = itertools.chain(
        *(_trainings({**common, **grid}, set(grid), measures, path) for grid in grids),
        (
            Item(_name([place]), {"model": place}, {"heads": {}} if measures is None else measures)
            for entry in models
            for place in _places(entry, path)
        ),
    )
    size = sum(math.prod(len(v) for v in {**common, **grid}.values() if isinstance(v, list)) for grid in grids)
    if size > MOST_ITEMS:
        raise WhatwhereError(f"{path}: expected at most {MOST_ITEMS:,} items, got {size:,}; split it.")
    for item in made:
        known = items.setdefault(item.name, item)
        if known.decisive() != item.decisive():
            raise WhatwhereError(
                f"{path} has two different items of the name {item.name!r}; make what differs between them an axis "
                "(a list), so that it becomes part of the name."
            )
    if not items:
        raise WhatwhereError(f"{path} asks for nothing: give it a task, for instance task = ['number', 'letter'].")
    return list(items.values())


def _parse(path: Path) -> dict[str, Any]:
    text = read_text(path, "the specification of the sweep")
    try:
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise WhatwhereError(f"{path} is not valid {kind}: {error}.") from error
    if not isinstance(content, dict):
        raise WhatwhereError(f"{path} should hold an object, and it holds a {type(content).__name__}.")
    return content


def _measures(content: object, path: Path) -> dict[str, dict[str, Any]] | None:
    """The studies of ``[measure.STUDY]`` with their settings; None if there are none."""
    if content is None:
        return None
    if not isinstance(content, dict) or not all(isinstance(settings, dict) for settings in content.values()):
        raise WhatwhereError(f"{path}: expected a table [measure.STUDY] for each study, got {content!r:.80}.")
    for name, settings in content.items():
        asked = study_named(name)
        asked.with_settings(**settings)
        if asked.subject.part == "once" or asked.subject.argument not in ("model", "run"):
            raise WhatwhereError(
                f"{path}: expected studies of a model or a run in [measure.STUDY], got {name!r}, which is asked alone: "
                f"whatwhere {name}"
            )
    return content


def _trainings(values: Mapping[str, Any], varied: set[str], measures: Measures, path: Path) -> Iterator[Item]:
    """The items of one grid; values from a list or from the grid itself are part of their names."""
    for key, value in values.items():
        if key not in _OPTIONS:
            raise WhatwhereError(
                f"{path}: unknown entry {key!r}. Expected options of `whatwhere train` ({', '.join(_OPTIONS)}), and "
                f"{', '.join(_PARTS)}."
            )
        if value == [] or isinstance(value, dict):
            raise WhatwhereError(f"{key} in {path} expected a value or a list of values, got {value!r:.80}.")
    if "task" not in values:
        raise WhatwhereError(f"{path} lacks the task: number, letter, both, or a list such as ['number', 'letter'].")
    axes = {key: value for key, value in values.items() if isinstance(value, list)}
    named = [key for key in values if key != "task" and key in varied | axes.keys()]
    fixed = {"threads": 1} | {key: value for key, value in values.items() if key not in axes}
    for chosen in itertools.product(*axes.values()):
        point = fixed | dict(zip(axes, chosen, strict=True))
        name = _name([str(point["task"]), *(f"{key}{_short(point[key])}" for key in named)])
        try:
            config = parse(Options, point, "the item").config()
        except WhatwhereError as error:
            raise WhatwhereError(f"the item {name} of {path} is impossible: {error}") from error
        varied_values = {key: value for key, value in point.items() if key != "threads"}
        yield Item(name, varied_values, {"dynamics": {}} if measures is None else measures, config.to_dict())


def _places(entry: str, path: Path) -> list[str]:
    """The models of an entry: itself, or the paths that match its pattern."""
    if not re.search(r"[*?\[]", entry):
        if entry not in SHIPPED and "://" not in entry and not Path(entry).exists():
            raise WhatwhereError(
                f"{path} names the model {entry!r}, and there is nothing of that name or at that path."
            )
        return [entry]
    root = Path(entry).anchor
    try:
        found = sorted(str(place) for place in Path(root or ".").glob(entry.removeprefix(root)))
    except (ValueError, NotImplementedError) as error:
        raise WhatwhereError(
            f"{path}: expected a pattern of paths such as runs/*, got {entry!r:.80}: {error}."
        ) from error
    if not found:
        raise WhatwhereError(f"{path} names the models {entry!r}, and there are none.")
    return found


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _name(parts: list[str]) -> str:
    """A directory name: all other characters become underscores."""
    name = re.sub(r"[^A-Za-z0-9.+_-]+", "_", "-".join(parts)).strip("_.")
    return name[:_LONGEST_NAME] or "item"
