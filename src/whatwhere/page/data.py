"""What the page shows, read from disk: nothing is computed anew, and what is missing is named with its command.

Tables travel by column, ``{"step": [0, 1], "loss": [4.9, 4.8]}``, which is small and keeps every digit of the CSV.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import step_of_maximal_accuracy
from whatwhere.store.storage import read_csv, read_json
from whatwhere.studies.mechanism.examples import FILE, FOLDER, read_examples
from whatwhere.tasks import TASKS as KINDS
from whatwhere.tasks import Task, make_task
from whatwhere.training.run import Run

TASKS = tuple(KINDS)
STARTS = 3
"""Sequences of each hop class that the sequence explorer can start from."""


@dataclass(frozen=True)
class Table:
    """One CSV file of a run."""

    file: str
    columns: tuple[str, ...]
    """Those that travel, besides the ones whose names begin with ``prefix``."""
    text: tuple[str, ...] = ()
    """Which of them are text."""
    command: str = ""
    """What makes it; the run's directory follows."""
    prefix: str = "\0"


TABLES = {
    "metrics": Table(
        "metrics.csv", ("step", "loss", "accuracy"), (), "whatwhere train {task} --resume --out", prefix="accuracy_hop",
    ),
    "scores": Table(
        "scores.csv",
        ("step", "layer", "head", "positional", "symbolic", "entropy_share", "own", "tau", "inputs"),
        (),
        "whatwhere score",
    ),
    "verdicts": Table(
        "mechanism/verdicts.csv", ("layer", "head", "role", "share", "serves", "hurts", "verdict"),
        ("role", "serves", "hurts", "verdict"), "whatwhere mechanism",
    ),
    "ablation": Table(
        "mechanism/ablation.csv", ("layer", "head", "hops", "before", "after", "after_low", "after_high", "count"),
        (), "whatwhere mechanism",
    ),
    "frequency": Table(
        "geometry/frequency.csv", ("measure", "layer", "head", "plane", "frequency", "weight", "low", "high"),
        ("measure",), "whatwhere geometry",
    ),
    "ids": Table(
        "geometry/table.csv",
        ("measure", "layer", "head", "weighted_id", "low", "high", "dominant", "dominant_weight", "paper_id", "inputs"),
        ("measure",),
        "whatwhere geometry",
    ),
    "vectors": Table(
        "geometry/vectors.csv", ("layer", "head", "plane", "role", "name", "x", "y", "count"),
        ("role", "name"), "whatwhere geometry",
    ),
    "length": Table(
        "length/accuracy.csv", ("variation", "length", "hop", "accuracy", "low", "high", "inputs"),
        ("variation",), "whatwhere length",
    ),
    "chain": Table(
        "length/chain.csv", ("source", "rule", "length", "hop", "share", "low", "high", "inputs"),
        ("source", "rule"), "whatwhere length",
    ),
    "breaks": Table(
        "length/breaks.csv", ("what", "source", "hop", "layer", "threshold", "length", "low", "high", "longest"),
        ("what", "source"), "whatwhere length",
    ),
}  # fmt: skip


def collect(directory: Path) -> dict[str, Any]:
    """Everything that the page needs of a reproduction, or of a single run.

    Raises:
        WhatwhereError: there are no results, or a file is damaged.
    """
    runs = runs_in(directory)
    whole = directory not in runs.values()
    missing: list[dict[str, str]] = []
    tasks = {name: _of_run(name, run, missing) for name, run in runs.items()}
    if not any(found[table] for found in tasks.values() for table in TABLES):
        raise WhatwhereError(
            f"a reproduction or a trained run was expected, and {directory} has no results to show. "
            f"Make them with: whatwhere reproduce --out {directory}"
        )
    claims, timing = directory / "claims.json", directory / "timing.csv"
    if whole:
        for file, part in ((claims, "claims"), (timing, "timing")):
            if not file.is_file():
                missing.append({"part": part, "command": f"whatwhere reproduce --out {directory}"})
    return {
        "name": directory.resolve().name,
        "whole": whole,
        "tasks": tasks,
        "claims": _claims(claims) if claims.is_file() else None,
        "timing": read_columns(timing, ("stage", "seconds", "authors_gpu_seconds", "authors_cpu_seconds"), ("stage",))
        if timing.is_file()
        else None,
        "missing": missing,
    }


def runs_in(directory: Path) -> dict[str, Path]:
    """The directories of a reproduction by task, or the one run that the directory itself is."""
    if Run(directory).exists:
        return {Run(directory).task.name: directory}
    return {task: directory / task for task in TASKS if (directory / task).is_dir()}


def _of_run(name: str, run: Path, missing: list[dict[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, table in TABLES.items():
        there = (run / table.file).is_file()
        found[key] = read_columns(run / table.file, table.columns, table.text, table.prefix) if there else None
        if not there:
            missing.append({"part": f"{name}: {table.file}", "command": f"{table.command.format(task=name)} {run}"})
    examples = run / FOLDER / FILE
    found["examples"] = read_examples(examples)["examples"] if examples.is_file() else None
    if not examples.is_file():
        missing.append({"part": f"{name}: {FOLDER}/{FILE}", "command": f"whatwhere mechanism {run}"})
    task = Run(run).task if Run(run).exists else make_task(name)
    found["task"] = task.to_dict() | {"length": task.length, "names": task.vocabulary.names}
    found["starts"] = _starts(task)
    found["run"] = read_json(run / "config.json", "the run's configuration") if Run(run).exists else None
    found["test"] = read_json(run / "test.json", "the test result") if (run / "test.json").is_file() else None
    found["best"] = step_of_maximal_accuracy(_rows(found["metrics"])) if found["metrics"] else None
    return found


def _starts(task: Task) -> list[dict[str, Any]]:
    """Sequences for the explorer: the task's own, which belong to no model."""
    batch = task.sample(STARTS * task.max_hops, seed=0)
    return [
        {"hops": int(hops), "tokens": task.decode(tokens).split()}
        for hops, tokens in zip(batch.hops, batch.tokens, strict=True)
    ]


def read_columns(
    path: Path, columns: tuple[str, ...], text: tuple[str, ...], prefix: str = "\0"
) -> dict[str, list[Any]]:
    """A table by column; numbers as numbers, empty cells as None.

    Raises:
        WhatwhereError: the file is missing, a column is, or a cell is no number where one was expected.
    """
    rows = read_csv(path, f"the table {path.name}", columns)
    wanted = [name for name in (rows[0] if rows else columns) if name in columns or name.startswith(prefix)]
    found: dict[str, list[Any]] = {name: [] for name in wanted}
    for line, row in enumerate(rows, start=2):
        for name in wanted:
            found[name].append(row[name] if name in text else _number(row[name], path, line, name))
    return found


def _number(cell: str, path: Path, line: int, column: str) -> float | int | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError as error:
        raise WhatwhereError(
            f"{path} is damaged: a number was expected in column {column!r} of line {line}, and {cell!r} is none. "
            "Remove the file and make it anew."
        ) from error
    return int(value) if value.is_integer() and "." not in cell else value


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, float]]:
    """As numbers: an empty cell is NaN."""
    lines = zip(*columns.values(), strict=True)
    return [{name: nan if cell is None else cell for name, cell in zip(columns, line, strict=True)} for line in lines]


def _claims(path: Path) -> list[dict[str, Any]]:
    claims = read_json(path, "the claims").get("claims")
    if not isinstance(claims, list) or not all(isinstance(claim, dict) for claim in claims):
        raise WhatwhereError(f"{path} should hold a list 'claims' of objects; remove it and run the report again.")
    return claims
