"""The items of a sweep that are done, read through their runs and results; what is missing is named."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_bytes
from whatwhere.store.manifest import Manifest
from whatwhere.studies import study_named
from whatwhere.studies.atlas.tables import Missing
from whatwhere.studies.results import Results
from whatwhere.studies.subject import SWEEP_TABLE
from whatwhere.training.run import Run

MEASURED = ("dynamics", "mechanism", "geometry", "length")
"""The studies that the atlas reads."""


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
            "Make it anew with the command that made the sweep; what is done stays."
        ) from error
    for name, _, _ in rows:
        if not name or Path(name).name != name:
            raise WhatwhereError(f"{path}: expected names of items without a path, got {name!r:.80}; make it anew.")
    return rows


def read_items(directory: Path) -> Iterator[DoneItem | Missing]:
    """Every item of a sweep, in its order: with its results, or why it has none.

    A run that ended and was scored counts even if another study refused it: a model that solves nothing has no
    mechanism to measure, and the atlas has to know that it did not learn.
    """
    for name, status, problem in sweep_table(directory):
        run = Run(directory / "items" / name)
        try:
            if not run.exists or not run.test():
                yield Missing(name, status, problem or "it has no run that has ended and was tested")
                continue
            studies = _studies(run)
        except WhatwhereError as error:
            yield Missing(name, "damaged", str(error))
            continue
        yield DoneItem(name, run, studies) if "dynamics" in studies else Missing(name, status, problem or "not scored")


def _studies(run: Run) -> dict[str, Results]:
    """The results that are there and complete.

    Raises:
        WhatwhereError: a manifest is damaged.
    """
    found = {}
    for name in MEASURED:
        manifest = Manifest(run.directory / name)
        if manifest.exists and manifest.record.complete:
            found[name] = Results.open(study_named(name), run.directory / name, run.directory.name)
    return found
