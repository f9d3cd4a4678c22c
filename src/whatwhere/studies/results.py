"""Where an experiment keeps what it measured: tidy tables of one row type each, beside the settings that made them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.store import seal
from whatwhere.store.storage import read_csv, read_json, remove_file, write_csv, write_json
from whatwhere.tasks.task import Task
from whatwhere.training.run import Run

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")


def analysis_directory(model: str, out: Path | None) -> Path:
    """Where the analyses of a model go: ``out``, or the run itself, or ``analysis-NAME`` here for any other model."""
    if out is not None:
        return out
    path = Path(model)
    return path if Run(path).exists else Path(f"analysis-{path.stem}")


def task_of(model: GPTJ, name: str) -> Task:
    """The task that a model was trained on.

    Raises:
        WhatwhereError: it does not say.
    """
    if model.task is None:
        raise WhatwhereError(
            f"a model that was trained on the number or letter task was expected, and {name} does not say its task. "
            "Train one with: whatwhere train number --out RUN"
        )
    return model.task


def fingerprint(model: GPTJ) -> str:
    """A name for the weights and the shape of a model, so that results of another model are not taken for its own."""
    digest = hashlib.sha256(repr(model.config).encode())
    for name, weights in model.state_dict().items():
        digest.update(name.encode())
        digest.update(weights.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]


class Results:
    """One directory of results.

    Args:
        directory: the directory; it need not exist yet.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._begun = False

    def begin(self, settings: Mapping[str, Any], *, force: bool = False) -> None:
        """Takes the directory for results made with ``settings``; earlier results with the same settings stay.

        Raises:
            WhatwhereError: it holds results made with other settings, and ``force`` does not say to replace them.
        """
        path = self._settings_path
        self._begun = True
        if path.is_file():
            known = self.settings()
            differing = [key for key in {**known, **settings} if known.get(key) != settings.get(key)]
            if not differing:
                return
            if not force:
                key = differing[0]
                raise WhatwhereError(
                    f"{self.directory} holds results made with {key} {known.get(key)!r}, and {settings.get(key)!r} was "
                    "asked for. Replace them with --force, or keep both with another --out."
                )
            for table in self.directory.glob("*.csv"):
                remove_file(table)
        write_json(path, settings)

    def settings(self) -> dict[str, Any]:
        """What the results were made with."""
        return read_json(self._settings_path, "the settings of the results")

    @property
    def _settings_path(self) -> Path:
        return self.directory / "settings.json"

    def owner(self, name: str) -> str:
        """What a result of this name is sealed with, so that another's, or another table, is not taken for it.

        Tables that stand alone, without settings, have no owner.

        Raises:
            WhatwhereError: the settings are damaged, or gone since the work began.
        """
        if not (self._begun or self._settings_path.is_file()):
            return ""
        return seal.owner({"settings": self.settings(), "name": name})

    def has(self, table: str) -> bool:
        """Whether a table is there.

        Raises:
            WhatwhereError: something else is in its place.
        """
        path = self._path(table)
        if not path.is_file() and (path.exists() or path.is_symlink()):
            raise WhatwhereError(f"{path} should be a table, and is no file. Remove it and measure anew.")
        return path.is_file()

    def write(self, table: str, rows: Sequence[Row]) -> None:
        """Writes a table, one line for each row; there must be at least one."""
        columns = [field.name for field in fields(rows[0])]
        write_csv(self._path(table), columns, [astuple(row) for row in rows], self.owner(table))

    def read(self, table: str, kind: type[Row]) -> list[Row]:
        """Reads a table back as rows of their type.

        Raises:
            WhatwhereError: there is no such table, or it is damaged.
        """
        kinds = get_type_hints(kind)
        path = self._path(table)
        try:
            return [
                kind(**{name: _value(row[name], of) for name, of in kinds.items()})
                for row in read_csv(path, f"the table {table!r}", list(kinds), self.owner(table))
            ]
        except ValueError as error:
            if isinstance(error, WhatwhereError):
                raise
            raise WhatwhereError(f"{path} is damaged: {error}. Remove it and measure anew.") from error

    def _path(self, table: str) -> Path:
        return self.directory / f"{table}.csv"


def _value(text: str, kind: type) -> Any:
    """One cell: numbers may be undefined (an empty cell), text may be empty."""
    if kind is float:
        return float(text) if text else math.nan
    if kind is bool:
        if text not in ("True", "False"):
            raise ValueError(f"{text!r} is neither True nor False")
        return text == "True"
    return kind(text)
