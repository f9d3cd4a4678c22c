"""Reads the finished items of a sweep from their runs and results, and lists the missing ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_bytes
from whatwhere.store.manifest import Manifest
from whatwhere.studies import study_named
from whatwhere.studies.atlas.tables import Missing
from whatwhere.studies.results import Results, consistent_tables
from whatwhere.studies.study import Progress
from whatwhere.studies.subject import SWEEP_TABLE
from whatwhere.training.run import Run

MEASURED = ("dynamics", "mechanism", "geometry", "length")
"""The studies that the atlas reads."""
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class DoneItem:
    """One item with its results."""

    name: str
    run: Run
    studies: dict[str, Results]


def sweep_table(directory: Path) -> list[tuple[str, str, str]]:
    """Name, status and problem of each item.

    Raises:
        WhatwhereError: the table is missing or damaged.
    """
    import pandas as pd

    path = directory / SWEEP_TABLE
    try:
        frame = pd.read_csv(io.BytesIO(read_bytes(path, "the table of the sweep")), dtype="str", keep_default_na=False)
        rows = list(zip(*(frame[name].tolist() for name in ("item", "status", "problem")), strict=True))
    except (ValueError, KeyError) as error:
        raise WhatwhereError(
            f"{path} is damaged: expected columns item, status and problem, got {error!s:.120}. "
            "Make it again with the command that made the sweep; what is done stays."
        ) from error
    for name, _, _ in rows:
        if not name or Path(name).name != name:
            raise WhatwhereError(f"{path}: expected names of items without a path, got {name!r:.80}; make it again.")
    if len({name for name, _, _ in rows}) < len(rows):
        raise WhatwhereError(f"{path}: expected one row for each item, got several for one; make it again.")
    return rows


def read_items(
    directory: Path, read: Callable[[DoneItem], Found], progress: Progress, what: str = "items"
) -> tuple[list[tuple[DoneItem, Found]], list[Missing]]:
    """Every finished item, in the order of the sweep, with the result of ``read``; and why others are missing.

    A run that ended and was scored counts even if another study failed on it: a model that solves nothing has no
    mechanism to measure, and the atlas must know that it did not learn.

    Raises:
        WhatwhereError: none is done, or the table of the sweep is damaged.
    """
    done: list[tuple[DoneItem, Found]] = []
    missing: list[Missing] = []
    for count, (name, status, problem) in enumerate(sweep_table(directory)):
        progress(f"reading {what}", count, count + 1)
        run = Run(directory / "items" / name)
        try:
            if not run.exists or not run.test():
                missing.append(Missing(name, status, problem or "it has no run that has ended and was tested"))
            elif "dynamics" not in (studies := _studies(run)):
                missing.append(Missing(name, status, problem or "not scored"))
            else:
                item = DoneItem(name, run, studies)
                with consistent_tables(studies.values()):
                    done.append((item, read(item)))
        except WhatwhereError as error:
            missing.append(Missing(name, "damaged", str(error)))
    if not done:
        raise WhatwhereError(
            f"expected a sweep with {what} that are done, got {directory} with {len(missing)} that are not. "
            "Continue with the command that made it."
        )
    return done, missing


def _studies(run: Run) -> dict[str, Results]:
    """The results that are there and complete.

    Raises:
        WhatwhereError: a manifest is damaged.
    """
    manifests = {name: Manifest(run.directory / name) for name in MEASURED}
    return {
        name: Results.open(study_named(name), manifest.directory, run.directory.name)
        for name, manifest in manifests.items()
        if manifest.exists and manifest.record.complete
    }
