"""What a sweep does: a small TOML or JSON file, checked as a whole before anything runs.

preset = "quick"                  # any option of `whatwhere train` or parameter of its task ...
task = ["number", "letter"]       # ... with one value, or a list of values to combine with all others
seed = [0, 1, 2]

models = ["number", "runs/*"]     # models that exist, to be measured as they are

[[grid]]                          # where not everything goes with everything: each grid on top of the lines above
task = "number"
symbols = [60, 120]

[measure]                         # on how many inputs; 0 leaves it out
scores = 512
length = 0
mechanism = 0
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import TAU
from whatwhere.store.records import from_json
from whatwhere.store.storage import read_text
from whatwhere.studies.dynamics.history import Settings
from whatwhere.studies.length.measure import LengthPlan
from whatwhere.tasks import TASKS
from whatwhere.training.config import TrainingConfig
from whatwhere.training.options import Options
from whatwhere.zoo.load import SHIPPED

MOST_ITEMS = 100_000
_LONGEST_NAME = 150
_OPTIONS = tuple(entry.name for entry in fields(Options))
_PARAMETERS = {entry.name for kind in TASKS.values() for entry in fields(kind)}
_PARTS = ("models", "grid", "measure")


@dataclass(frozen=True)
class Measures:
    """What is measured on each item, and on how many inputs; 0 leaves it out."""

    scores: int = 512
    """Scores of every head, in a run at every checkpoint."""
    tau: float = TAU
    length: int = 0
    """Accuracy at longer lengths, and where it ends."""
    mechanism: int = 0
    """Who looks where, and what ablation says of it."""

    def __post_init__(self) -> None:
        if min(self.scores, self.length, self.mechanism) < 0:
            raise WhatwhereError("the numbers of inputs in [measure] must be 0 or more.")
        Settings(self.tau, self.scores or 1)  # these refuse what is impossible
        if self.length:
            LengthPlan(inputs=self.length)


@dataclass(frozen=True)
class Item:
    """One line of the table: a run to train and measure, or a model that is there to be measured."""

    name: str
    """Of its directory, ``DIR/items/NAME``."""
    settings: Mapping[str, Any]
    """What makes it different: options and parameters, or the model's place."""
    measures: Measures
    config: Mapping[str, Any] | None = None
    """The configuration of the training; None for a model that is there."""

    @property
    def kind(self) -> Literal["train", "model"]:
        """What it is."""
        return "model" if self.config is None else "train"

    @property
    def training(self) -> TrainingConfig:
        """The configuration of a training."""
        assert self.config is not None
        return TrainingConfig.from_dict(self.config)

    def decisive(self) -> dict[str, Any]:
        """What decides its results, as JSON keeps it."""
        config = None if self.config is None else self.training.decisive()
        parts = {"config": config, "settings": dict(self.settings), "measures": asdict(self.measures)}
        return json.loads(json.dumps(parts))


@dataclass(frozen=True)
class Grid:
    """Values by name; a list is an axis."""

    fixed: Mapping[str, Any]
    axes: Mapping[str, list[Any]] = field(default_factory=dict)

    def points(self) -> Iterator[dict[str, Any]]:
        """Every combination."""
        for values in itertools.product(*self.axes.values()):
            yield {**self.fixed, **dict(zip(self.axes, values, strict=True))}


def read_sweep(path: Path) -> list[Item]:
    """The items of a specification, in order.

    Raises:
        WhatwhereError: it cannot be read, or a single item is impossible; the message names it.
    """
    content = _parse(path)
    measures = from_json(Measures, content.get("measure", {}), f"[measure] in {path}")
    common = {key: value for key, value in content.items() if key not in _PARTS}
    grids = content.get("grid", [{}] if common else [])
    models = content.get("models", [])
    if not _are_tables(grids):
        raise WhatwhereError(f"each grid of {path} should be a table of its own, headed [[grid]].")
    if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
        raise WhatwhereError(f"models in {path} should be a list of names and paths, and {models!r:.80} arrived.")
    items: dict[str, Item] = {}
    made = itertools.chain(
        *(_trainings({**common, **grid}, set(grid), measures, path) for grid in grids),
        (_model(place, measures) for entry in models for place in _places(entry, path)),
    )
    for item in made:
        known = items.setdefault(item.name, item)
        if known.decisive() != item.decisive():
            raise WhatwhereError(
                f"{path} has two different items of the name {item.name!r}; make what differs between them an axis "
                "(a list), so that it becomes part of the name."
            )
        if len(items) > MOST_ITEMS:
            raise WhatwhereError(f"{path} asks for more than {MOST_ITEMS:,} items; split it.")
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


def _are_tables(grids: object) -> bool:
    return isinstance(grids, list) and all(isinstance(grid, dict) for grid in grids)


def _trainings(values: Mapping[str, Any], varied: set[str], measures: Measures, path: Path) -> Iterator[Item]:
    """The items of one grid; what it varies, by a list or by being a grid's own, is part of their names."""
    known = {*_OPTIONS, *_PARAMETERS}
    for key, value in values.items():
        if key not in known:
            raise WhatwhereError(
                f"{path} has the unknown entry {key!r}. Known are the options of `whatwhere train` "
                f"({', '.join(_OPTIONS)}), parameters of the tasks ({', '.join(sorted(_PARAMETERS))}), "
                f"and {', '.join(_PARTS)}."
            )
        if value == [] or isinstance(value, dict):
            raise WhatwhereError(f"{key} in {path} should be a value or a list of values, and {value!r:.80} arrived.")
    if "task" not in values:
        raise WhatwhereError(f"{path} lacks the task: number, letter, or ['number', 'letter'].")
    axes = {key: value for key, value in values.items() if isinstance(value, list)}
    named = [key for key in values if key != "task" and key in varied | axes.keys()]
    grid = Grid({"threads": 1} | {key: value for key, value in values.items() if key not in axes}, axes)
    for point in grid.points():
        name = _name([str(point["task"]), *(f"{key}{_short(point[key])}" for key in named)])
        try:
            options = from_json(Options, {key: point[key] for key in point if key in _OPTIONS}, "the item")
            config = options.config(**{key: point[key] for key in point if key not in _OPTIONS})
        except WhatwhereError as error:
            raise WhatwhereError(f"the item {name} of {path} is impossible: {error}") from error
        yield Item(name, {key: value for key, value in point.items() if key != "threads"}, measures, config.to_dict())


def _model(place: str, measures: Measures) -> Item:
    return Item(_name([place]), {"model": place}, measures)


def _places(entry: str, path: Path) -> list[str]:
    """The models that an entry names: itself, or what its pattern finds."""
    if not re.search(r"[*?\[]", entry):
        if entry not in SHIPPED and "://" not in entry and not Path(entry).exists():
            raise WhatwhereError(
                f"{path} names the model {entry!r}, and there is nothing of that name or at that path."
            )
        return [entry]
    root = Path(entry).anchor
    found = sorted(str(place) for place in Path(root or ".").glob(entry.removeprefix(root)))
    if not found:
        raise WhatwhereError(f"{path} names the models {entry!r}, and there are none.")
    return found


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _name(parts: list[str]) -> str:
    """A name for a directory: what else a value may hold becomes an underscore."""
    name = re.sub(r"[^A-Za-z0-9.+_-]+", "_", "-".join(parts)).strip("_.")
    return name[:_LONGEST_NAME] or "item"
