"""Scores along training, as ``RUN/scores.csv`` keeps them: one row per checkpoint, layer and head (Figures 2B, 2C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import TAU, HeadScores, Weighting
from whatwhere.machine import memory
from whatwhere.store.storage import read_csv, write_csv
from whatwhere.training.run import Run

COLUMNS = (
    "step", "layer", "head", "positional", "symbolic", "entropy", "tau", "inputs",
    "seed", "level", "entropy_share", "own", "undefined",
)  # fmt: skip
_NUMBERS = ("positional", "symbolic", "entropy", "entropy_share")
WATCH = "watch.json"
"""Lies beside the scores of a training that is not ours; a ``config.json`` there is that of another library."""
Row = tuple[object, ...]
"""The cells of one line, in the order of :data:`COLUMNS`."""


@dataclass(frozen=True)
class Settings:
    """What decides the scores of a checkpoint."""

    tau: float = TAU
    inputs: int = 512
    """Sequences of the run's own task, equally many of each hop count."""
    seed: int = 0
    """Of the inputs."""

    def __post_init__(self) -> None:
        Weighting(self.tau)  # refuses an impossible one
        if self.inputs < 1:
            raise WhatwhereError(f"the number of inputs must be 1 or more, not {self.inputs}.")

    def __str__(self) -> str:
        return f"tau {self.tau:.10g}, {self.inputs} inputs, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class ScoreHistory:
    """The scores of a run's checkpoints; NaN for heads that were not scored, where only some were."""

    settings: Settings
    steps: Int[np.ndarray, "step"]
    positional: Float[np.ndarray, "step layer head"]
    symbolic: Float[np.ndarray, "step layer head"]
    entropy: Float[np.ndarray, "step layer head"]
    entropy_share: Float[np.ndarray, "step layer head"]


def read_history(path: Path) -> ScoreHistory:
    """Reads a run's scores.

    Raises:
        WhatwhereError: there is no such file, it is damaged, or it mixes settings.
    """
    what = "the run's scores"
    rows = read_csv(path, what, COLUMNS, _owner(path))
    try:
        settings = {Settings(float(row["tau"]), int(row["inputs"]), int(row["seed"])) for row in rows}
        numbers = np.array([[float(row[name] or "nan") for name in _NUMBERS] for row in rows])
        index = np.array([[int(row[name]) for name in ("step", "layer", "head")] for row in rows])
    except ValueError as error:
        raise WhatwhereError(f"{what} at {path} are damaged: {error}. Score anew with --force.") from error
    if len(settings) != 1:
        found = "; ".join(sorted(map(str, settings))) or "no rows"
        raise WhatwhereError(f"{what} at {path} should have one set of settings, and have {found}. Use --force.")
    steps, at_step = np.unique(index[:, 0], return_inverse=True)
    scored = {(layer, head) for _, layer, head in index.tolist()}
    if index.min() < 0 or len({*map(tuple, index.tolist())}) != len(rows) or len(rows) != len(steps) * len(scored):
        raise WhatwhereError(
            f"{what} at {path} should have one row for each of {len(steps)} steps and each of {len(scored)} heads, "
            f"and have {len(rows)} rows. Score anew with --force."
        )
    layers, heads = (index[:, 1:].max(0) + 1).tolist()
    memory.require(8 * len(_NUMBERS) * len(steps) * layers * heads, f"{what} at {path}")
    table = np.full((len(_NUMBERS), len(steps), layers, heads), np.nan)
    table[:, at_step, index[:, 1], index[:, 2]] = numbers.T
    return ScoreHistory(settings.pop(), steps, **dict(zip(_NUMBERS, table, strict=True)))


def rows_of(step: int, scores: HeadScores, settings: Settings, heads: Sequence[int] | None = None) -> list[Row]:
    """The lines of one checkpoint; ``heads`` says which ones were scored, if not all."""
    return [
        (
            step, layer, head, float(scores.positional[i, at]), float(scores.symbolic[i, at]),
            float(scores.entropy[i, at]), settings.tau, settings.inputs, settings.seed, scores.level,
            float(scores.entropy_share[i, at]), float(scores.own[i, at]), int(scores.undefined[i, at]),
        )
        for i, layer in enumerate(scores.layers)
        for at, head in enumerate(range(scores.positional.shape[1]) if heads is None else heads)
    ]  # fmt: skip


def write_rows(path: Path, rows: Mapping[int, Sequence[Row]]) -> None:
    """Writes the rows of all steps, whole or not at all."""
    write_csv(path, COLUMNS, [row for step in sorted(rows) for row in rows[step]], _owner(path))


def read_rows(path: Path) -> dict[int, list[Row]]:
    """The rows as they stand in the file, by step; :func:`read_history` tells whether they make sense."""
    rows: dict[int, list[Row]] = {}
    for row in read_csv(path, "the run's scores", COLUMNS, _owner(path)):
        rows.setdefault(int(row["step"]), []).append(tuple(row[name] for name in COLUMNS))
    return rows


def _owner(path: Path) -> str:
    """The run beside whose configuration the scores lie, if there is one."""
    run = Run(Path(path).parent)
    return run.owner if run.exists and not run.directory.joinpath(WATCH).is_file() else ""
