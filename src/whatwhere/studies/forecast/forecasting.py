"""Three forecasts of the length at which a model breaks, each from a batch of the training length only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import shares_by_hop
from whatwhere.studies.forecast.bracketing import bracketed, length_grid
from whatwhere.studies.forecast.lengthened import right_if_longer
from whatwhere.studies.forecast.tables import CARRIED, CHAIN, DISPERSION, THRESHOLDS, PredictedBreak
from whatwhere.studies.length.breaks import break_length
from whatwhere.studies.length.hop_strength import chain_rows, hop_rows, measure_hops
from whatwhere.studies.length.prediction import predict_hops
from whatwhere.studies.length.tables import MASS, MEASURED, PREDICTED, working_cells
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.interventions import Intervention


def forecast(
    name: tuple[str, str], model: GPTJ, batch: Batch, longest: int, changes: Sequence[Intervention], seed: int
) -> list[PredictedBreak]:
    """All forecasts for one variant, named by model and variation, from a batch of the training length.

    No forecast goes beyond the longest length. The seed draws additional tokens.
    """
    task = model.task
    assert task is not None, "the subject is a model with a task"
    grid = length_grid(task.length, longest)
    found = {CARRIED: carried(model, task, batch, grid, changes, seed)}
    found[CHAIN], found[DISPERSION] = from_hops(model, task, batch, grid, changes, seed)
    return [
        PredictedBreak(*name, method, threshold, math.nan if beyond else length, beyond)
        for method, lengths in found.items()
        for threshold, length in lengths.items()
        for beyond in [length > longest]
    ]


def carried(
    model: GPTJ, task: Task, batch: Batch, grid: Sequence[int], changes: Sequence[Intervention], seed: int
) -> dict[float, float]:
    """The length at which answers become wrong if every layer attends to additional keys; inf if they do not."""

    def curve(length: int) -> Estimate:
        further = task.extra(np.random.default_rng([seed, length]), batch, length - task.length)
        right = right_if_longer(model, task, batch, further, changes, seed)
        return shares_by_hop(right, batch.hops)[-1][1]

    return _crossings(bracketed(curve, grid, THRESHOLDS))


def from_hops(
    model: GPTJ, task: Task, batch: Batch, grid: Sequence[int], changes: Sequence[Intervention], seed: int
) -> tuple[dict[float, float], dict[float, float]]:
    """The two forecasts from heads that do their hop at the training length; NaN if there is none.

    The first is that of the study ``length``: where too few paths keep more than half of the attention in every working
    head, if contents do not change. The second uses only the mean margin D of these heads: with n keys, all but one of
    them D below the right one, it keeps a share t of the attention up to n = 1 + e^D (1 - t) / t.
    """
    strength = measure_hops(model, task, batch, changes)
    rows = hop_rows(MEASURED, task.length, strength, seed)
    working = working_cells(rows, task.length)
    if not working:
        nothing = dict.fromkeys(THRESHOLDS, math.nan)
        return nothing, nothing
    curve = {
        length: next(
            row.share
            for row in chain_rows(PREDICTED, length, hops, batch.hops, working)
            if row.hop is None and row.rule == MASS
        )
        for length, hops in predict_hops(model, task, batch, grid, working, seed, changes).items()
    }
    margin = float(np.mean([row.margin.value for row in rows if row.cell in working]))
    return _crossings(curve), {t: dispersion_length(margin, t) for t in THRESHOLDS}


def dispersion_length(margin: float, share: float) -> float:
    """The number of keys at which softmax gives this share to a key that leads all others by a margin."""
    return 1 + math.exp(min(margin, 100.0)) * (1 - share) / share


def _crossings(points: dict[int, Estimate]) -> dict[float, float]:
    curve = [(length, share.value) for length, share in points.items()]
    crossed = {threshold: break_length(curve, threshold) for threshold in THRESHOLDS}
    return {threshold: math.inf if math.isnan(length) else length for threshold, length in crossed.items()}
