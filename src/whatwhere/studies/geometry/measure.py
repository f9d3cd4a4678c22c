"""Frequency use, planes and closed bands of a trained model (Sections 3.4 and 3.5).

A head's *dominant plane* has the largest share of its logits' variance; keys and queries are looked at there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from whatwhere.heads.estimate import UNDEFINED, Estimate
from whatwhere.heads.frequency import MEASURES, FrequencyUse, frequency_use
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.geometry import tables
from whatwhere.studies.geometry.gating import closings, gated_accuracy
from whatwhere.studies.geometry.nulls import against_layers, null_comparisons
from whatwhere.studies.geometry.planes import Plane
from whatwhere.studies.geometry.tables import FrequencyId, GatedAccuracy, GeometrySettings, NullComparison, PlaneWeight
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.traceable import traceable


def measure(model: GPTJ, settings: GeometrySettings, results: Results, progress: Progress) -> None:
    """Measures everything that the results do not have yet."""
    task = model.task
    assert task is not None, "the subject is a model with a task"
    task.require_whole_pointers("geometry")
    batch = task.sample(settings.inputs, seed=settings.seed)
    changes = closings(model, task.length)
    depth, total = model.config.layers, model.config.layers + len(changes)
    if not (results.has("nulls") and results.has("vectors")):
        _measure_planes(model, task, batch, results, lambda done: progress("planes of each layer", done, total))
    # Rows are written after each closing, so an interrupted session loses one of them.
    gated = results.rows("gating", GatedAccuracy)
    known = {row.variation for row in gated}
    for index, closing in enumerate(changes):
        progress(f"planes closed: {closing.name}", depth + index, total)
        if closing.name not in known:
            gated += gated_accuracy(model, batch, closing)
            results.write("gating", gated)
    progress("geometry measured", total, total)


@torch.no_grad()
def _measure_planes(model: GPTJ, task: Task, batch: Batch, results: Results, progress: Callable[[int], None]) -> None:
    """Frequency use of every head, and its keys and queries in its dominant plane, layer by layer in one pass."""
    weights: list[PlaneWeight] = []
    ids: list[FrequencyId] = []
    planes: list[Plane] = []
    nulls: list[NullComparison] = []

    def look(layer: LayerTrace) -> None:
        progress(layer.layer)
        last, everywhere = Trace((layer.of_queries(slice(-1, None)),)), Trace((layer,))
        for name in MEASURES:
            use = frequency_use(last, name)
            more, heads = _tables(use, task, results.settings.seed)
            weights.extend(more)
            ids.extend(heads)
            if name == tables.VARIANCE:
                clear = [(row.head, row.dominant) for row in heads if row.dominant is not None]
                planes.extend(Plane(task, layer, batch.tokens, head, plane) for head, plane in clear)
                nulls.extend(row for at in clear for row in null_comparisons(task, layer, batch.tokens, *at))
            at_pointers = replace(frequency_use(everywhere, name), measure=name + tables.AT_POINTERS)
            ids.extend(_tables(at_pointers, task, results.settings.seed)[1])

    traceable(model).stream(batch.tokens, look, queries=range(task.target, task.length))
    results.write("weights", sorted(weights, key=lambda row: MEASURES.index(row.measure)))
    order = [name + queries for queries in ("", tables.AT_POINTERS) for name in MEASURES]
    results.write("ids", sorted(ids, key=lambda row: order.index(row.measure)))
    results.write("keys", [row for plane in planes for row in plane.alignments()])
    results.write("queries", [row for plane in planes for row in plane.turns()])
    results.write("matching", [row for plane in planes for row in plane.matchings()])
    results.write("nulls", [*nulls, *against_layers(nulls)])
    results.write("vectors", [row for plane in planes for row in plane.vectors()])  # last: it tells that all are there


def _tables(use: FrequencyUse, task: Task, seed: int) -> tuple[list[PlaneWeight], list[FrequencyId]]:
    """The rows of one layer under one measure."""
    ends, (means,), (mean_ids,), (dominant,) = use.intervals(seed), use.weights, use.weighted_id, use.dominant
    (layer,), inputs = use.layers, use.each.shape[1]
    paper = tables.PAPER_IDS.get(task.name, ()) if len(use.frequencies) == tables.PAPER_PLANES else ()
    weights: list[PlaneWeight] = []
    ids: list[FrequencyId] = []
    for head in range(len(means)):
        undefined = int(use.undefined[0, head])
        known = inputs - undefined
        columns = zip(means[head], ends.weights_low[0, head], ends.weights_high[0, head], strict=True)
        each = [Estimate(float(value), float(low), float(high), known) for value, low, high in columns]
        with_frequencies = enumerate(zip(use.frequencies, each, strict=True), start=1)
        weights += [PlaneWeight(use.measure, layer, head, k, float(g), weight) for k, (g, weight) in with_frequencies]
        mean_id = Estimate(float(mean_ids[head]), float(ends.id_low[0, head]), float(ends.id_high[0, head]), known)
        frequency = math.nan if math.isnan(mean_id.value) else float(use.frequencies[round(mean_id.value) - 1])
        top = None if np.isnan(dominant[head]) else int(dominant[head])
        share, quoted = UNDEFINED if top is None else each[top - 1], paper[layer] if layer < len(paper) else None
        ids.append(FrequencyId(use.measure, layer, head, mean_id, frequency, top, share, quoted, undefined))
    return weights, ids
