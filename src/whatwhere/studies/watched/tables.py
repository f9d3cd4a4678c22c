"""What a watch leaves on disk: a run directory (DESIGN, section 6) of somebody else's training.

    OUT/watch.json     what was watched, on which inputs, with which versions
    OUT/scores.csv     the scores, as of a run of ours
    OUT/metrics.csv    step and loss, if losses were given

Each file appears whole or not at all; all of them are rewritten at each scoring, as they are small.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_csv, read_json, write_csv, write_json
from whatwhere.studies.dynamics.history import WATCH, Row, read_history, read_rows, write_rows
from whatwhere.training.run import environment

SCORES = "scores.csv"
METRICS = "metrics.csv"


class Watched:
    """The directory of a watch.

    Args:
        directory: it need not exist yet.
        description: what decides the scores.
        resume: whether scores that are there already may be gone on with.

    Raises:
        WhatwhereError: there are scores already and they may not, or they are of something else.
    """

    def __init__(self, directory: Path, description: Mapping[str, Any], *, resume: bool) -> None:
        self.directory = directory
        self.description = json.loads(json.dumps(description))
        self.rows: dict[int, list[Row]] = {}
        self.losses: dict[int, float] = {}
        there = [name for name in (SCORES, METRICS) if (directory / name).exists()]
        if not there:
            return
        if not is_watched(directory):
            raise WhatwhereError(f"{directory} holds a {there[0]} that no watch made; choose another directory.")
        if not resume:
            raise WhatwhereError(
                f"{directory} holds scores of a watch already. Go on with them by resume=True, or choose another "
                "directory."
            )
        before = describe(directory)
        if differing := [name for name in self.description if before.get(name) != self.description[name]]:
            name = differing[0]
            raise WhatwhereError(
                f"the scores in {directory} were made with {name} {before.get(name)}, and {self.description[name]} "
                "is asked for. Watch the same as before, or choose another directory."
            )
        if SCORES in there:
            read_history(directory / SCORES)  # refuses a damaged table
            self.rows = read_rows(directory / SCORES)
        self.losses = {int(row["step"]): row["loss"] for row in read_losses(directory)}

    def begin(self, step: int) -> None:
        """Training is at this step: what is known of it and of later ones is of a future that did not come."""
        self.rows = {at: rows for at, rows in self.rows.items() if at < step}
        self.losses = {at: loss for at, loss in self.losses.items() if at < step}
        write_json(self.directory / WATCH, {"watch": self.description, "environment": environment()})

    def add(self, step: int, rows: Sequence[Row], loss: float | None) -> None:
        """Keeps the scores of a step."""
        self.rows[step] = list(rows)
        write_rows(self.directory / SCORES, self.rows)
        if loss is not None:
            self.losses[step] = loss
        if self.losses:
            write_csv(self.directory / METRICS, ["step", "loss"], sorted(self.losses.items()))


def is_watched(directory: Path) -> bool:
    """Whether a directory was made by a watch."""
    return (directory / WATCH).is_file()


def describe(directory: Path) -> dict[str, Any]:
    """What was watched.

    Raises:
        WhatwhereError: the description is missing or damaged.
    """
    path = directory / WATCH
    content = read_json(path, "the description of a watch").get("watch")
    if not isinstance(content, dict) or "model" not in content:
        raise WhatwhereError(f"{path} should say what was watched, and it does not; it may be damaged.")
    return content


def read_losses(directory: Path) -> list[dict[str, float]]:
    """Steps and losses, if any were kept.

    Raises:
        WhatwhereError: the table is damaged.
    """
    path = directory / METRICS
    if not path.exists():
        return []
    rows = read_csv(path, "the losses of a watch", ["step", "loss"])
    try:
        return [{name: float(row[name] or "nan") for name in ("step", "loss")} for row in rows]
    except ValueError as error:
        raise WhatwhereError(f"{path} is damaged: {error}.") from error
