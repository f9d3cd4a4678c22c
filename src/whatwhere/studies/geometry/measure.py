"""Geometry and frequency use of a trained model: what Figure 4, the frequency figure and its table are drawn from.

``DIR/geometry`` then holds

    settings.json      model, task, inputs, seed
    frequency.csv      the weight of every plane, by layer, head and measure
    table.csv          weighted ID and dominant plane, by layer, head and measure, with the paper's ID
    keys.csv           in each head's dominant plane: alignment of the keys
    queries.csv        there, number task: slope of the queries' angle against the integer, R^2, agreement, aim
    matching.csv       there, letter task: do queries for a letter point where its keys do
    vectors.csv        there: mean keys and queries
    gating.csv         accuracy with planes closed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from whatwhere.heads.frequency import MEASURES, FrequencyUse, frequency_use
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.geometry.frequency_gating import measure_gating
from whatwhere.studies.geometry.planes import Plane
from whatwhere.studies.length.variations import gating_variations
from whatwhere.studies.results import Results, fingerprint
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.traceable import trace

PAPER_IDS = {
    "number": (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38),
    "letter": (18, 32, 42, 37, 40, 38, 41, 38, 41, 39, 38, 40),
}
"""The paper's table "Weighted averaged ID's", by layer."""


@dataclass(frozen=True)
class PlaneWeight:
    """How much one plane weighs in one head."""

    measure: str
    layer: int
    head: int
    plane: int
    """The ID, from 1."""
    frequency: float
    weight: float
    low: float
    high: float
    inputs: int
    undefined: int


@dataclass(frozen=True)
class FrequencyRow:
    """One line of the table of frequencies."""

    measure: str
    layer: int
    head: int
    weighted_id: float
    """Before rounding."""
    low: float
    high: float
    frequency: float
    """Of the rounded ID."""
    dominant: int
    dominant_weight: float
    dominant_low: float
    dominant_high: float
    paper_id: int
    """0 where the paper has none."""
    inputs: int
    undefined: int


def settings_of(model: GPTJ, task: Task, inputs: int, seed: int) -> dict[str, Any]:
    """What decides every number of the results."""
    return {"model": fingerprint(model), "task": task.to_dict(), "inputs": inputs, "seed": seed}


def steps_of(model: GPTJ, task: Task) -> int:
    """How often the observer of :func:`measure_geometry` is called."""
    return len(MEASURES) + model.config.layers + len(gating_variations(model, task.length))


def measure_geometry(
    model: GPTJ,
    task: Task,
    directory: Path,
    *,
    inputs: int = 512,
    seed: int = 0,
    force: bool = False,
    observer: Callable[[], None] = lambda: None,
) -> Results:
    """Measures everything that is not on disk yet.

    Args:
        model: what was trained.
        task: its task.
        directory: where the results go, in ``geometry``.
        inputs: sequences, equally many of each hop count.
        seed: of the sequences and the resampling.
        force: replace results made with other settings.
        observer: called after each part, :func:`steps_of` times.

    Raises:
        WhatwhereError: there are results made with other settings.
    """
    results = Results(directory / "geometry")
    results.begin(settings_of(model, task, inputs, seed), force=force)
    batch = task.sample(inputs, seed=seed)
    if not all(results.has(table) for table in ("table", "frequency", "vectors")):
        with torch.no_grad():
            found = trace(model, batch.tokens)
        uses = []
        for measure in MEASURES:
            uses.append(frequency_use(found, measure))
            observer()
        weights, table = _tables(uses, task, seed)
        results.write("table", table)
        results.write("frequency", weights)

        planes = list(_dominant_planes(model, task, batch, uses[MEASURES.index("variance")], observer))
        for table, rows in (
            ("keys", [row for plane in planes for row in plane.alignments()]),
            ("queries", [row for plane in planes for row in plane.turns()]),
            ("matching", [row for plane in planes for row in plane.matchings()]),
            ("vectors", [row for plane in planes for row in plane.vectors()]),
        ):
            if rows:
                results.write(table, rows)
    if not results.has("gating"):
        results.write("gating", measure_gating(model, batch, task.length, observer))
    return results


def _dominant_planes(
    model: GPTJ, task: Task, batch: Batch, use: FrequencyUse, observer: Callable[[], None]
) -> Iterator[Plane]:
    """Each head's keys and queries in the plane with the largest share of its logits' variance."""
    with torch.no_grad():
        found = trace(model, batch.tokens, queries=range(task.target, task.length))
    for index, traced in enumerate(found.layers):
        for head, plane in enumerate(use.dominant[index]):
            if plane:
                yield Plane(task, traced, batch.tokens, head, int(plane))
        observer()


def _tables(uses: list[FrequencyUse], task: Task, seed: int) -> tuple[list[PlaneWeight], list[FrequencyRow]]:
    weights, table = [], []
    for use in uses:
        ends, means, ids, dominant = use.intervals(seed), use.weights, use.weighted_id, use.dominant
        inputs = use.each.shape[1]
        paper = PAPER_IDS.get(task.name, ()) if len(use.frequencies) == 64 else ()
        for index, layer in enumerate(use.layers):
            for head in range(means.shape[1]):
                at = index, head
                undefined = int(use.undefined[at])
                weights += [
                    PlaneWeight(
                        use.measure, layer, head, plane + 1, float(use.frequencies[plane]), float(means[*at, plane]),
                        float(ends.weights_low[*at, plane]), float(ends.weights_high[*at, plane]), inputs, undefined,
                    )
                    for plane in range(means.shape[2])
                ]  # fmt: skip
                top = int(dominant[at]) - 1
                known = top >= 0
                nothing = float("nan")
                table.append(
                    FrequencyRow(
                        use.measure, layer, head, float(ids[at]), float(ends.id_low[at]), float(ends.id_high[at]),
                        float(use.frequencies[round(float(ids[at])) - 1]) if ids[at] == ids[at] else nothing,
                        top + 1,
                        float(means[*at, top]) if known else nothing,
                        float(ends.weights_low[*at, top]) if known else nothing,
                        float(ends.weights_high[*at, top]) if known else nothing,
                        paper[layer] if layer < len(paper) else 0, inputs, undefined,
                    )
                )  # fmt: skip
    return weights, table
