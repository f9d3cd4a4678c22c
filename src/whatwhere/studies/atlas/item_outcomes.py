"""The numbers of one item, from the tables that its studies left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from whatwhere.heads.purity import GAMMAS, KINDS, Purity
from whatwhere.studies.atlas.tables import Point
from whatwhere.studies.dynamics.association import purity_by_layer, rank_correlation
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.dynamics.learning import crossings
from whatwhere.studies.evidence import LEARNED
from whatwhere.studies.geometry.tables import PAPER_PLANES, VARIANCE, FrequencyId
from whatwhere.studies.length.tables import ACCURACY, AS_TRAINED, MEASURED, Accuracy, Break
from whatwhere.studies.mechanism.tables import Ablation, Chain, LayersUsed, SufficientSet, read_heads
from whatwhere.studies.results import Results
from whatwhere.training.run import Run

Numbers = dict[str, float]
LENGTHS = (145, 325, 850)
HALF = 0.5
FIRST, LATE = range(4), range(5, 12)
"""The layers that index in the paper's number model, and those that propagate (its table of frequency IDs)."""


def outcomes_of(run: Run, studies: Mapping[str, Results]) -> Numbers:
    """Every outcome of an item; those of a study that was not measured are left out.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    accuracies = [row.accuracy for row in run.test()]
    worst = min(accuracies, default=math.nan)
    found: Numbers = {
        "learned": float(worst >= LEARNED),
        "test_accuracy": float(np.mean(accuracies)) if accuracies else math.nan,
        "worst_accuracy": worst,
    }
    readers: dict[str, Callable[[Results], Numbers]] = {
        "dynamics": _dynamics, "mechanism": _mechanism, "length": _length, "geometry": partial(_geometry, run=run),
    }  # fmt: skip
    for name, read in readers.items():
        if name in studies:
            found |= read(studies[name])
    return found


def _dynamics(results: Results) -> Numbers:
    """When hop classes are learned, and which heads end pure when (Figure 2)."""
    training = Training(results)
    steps = crossings(training)
    gap = max(steps.values()) / max(min(steps.values()), 1.0) if not any(map(math.isnan, steps.values())) else math.nan
    found: Numbers = {"timing_gap": gap} | {f"step_hop{hop}": step for hop, step in steps.items()}
    found |= _pure(training.scores) | _order_of_purity(training.scores.purity(GAMMAS[0]))
    for tau, history in training.by_tau.items():
        if not math.isclose(tau, results.settings.tau):
            at_tau = _pure(history)
            found |= {f"{name}_tau{tau:g}": at_tau[name] for name in ("pure_share", "pure_positional", "pure_symbolic")}
    return found


def _pure(history: ScoreHistory) -> Numbers:
    """How many heads end pure."""
    purity = history.purity(GAMMAS[0])
    positional, symbolic = (purity.pure(kind)[-1] for kind in KINDS)  # [layer, head]
    return {
        "pure_share": float((positional | symbolic).mean()),
        "pure_positional": float(positional.sum()),
        "pure_symbolic": float(symbolic.sum()),
        "split_layers": float((positional.any(1) & symbolic.any(1)).sum()),
    }


def _order_of_purity(purity: Purity) -> Numbers:
    """Which layer is the last whose heads become pure for good, and whether layers follow each other.

    A layer counts from the step at which the last of its pure heads stays pure, as in the claim about layer 11.
    """
    layers = purity_by_layer(purity)
    pure = np.flatnonzero(~np.isnan(layers))
    last = len(layers) - 1
    if not len(pure):
        return {"last_to_purify": math.nan, "last_layer_is_last": math.nan, "last_layer_never_pure": 1.0}
    latest = layers[pure].max()
    return {
        "last_to_purify": float(pure[layers[pure] == latest].max()),
        "last_layer_is_last": float(layers[last] == latest),
        "last_layer_never_pure": float(last not in pure),
        "purity_order": rank_correlation(pure, layers[pure]),
    }


def _mechanism(results: Results) -> Numbers:
    """What the model needs, how many layers a hop takes, and how it does on longer chains."""
    sets = results.rows("sufficient", SufficientSet)
    used = {row.hops: row for row in results.rows("layers_used", LayersUsed)}
    longer = [row.accuracy.value for row in results.rows("chains", Chain) if not row.trained]
    needed = {(row.layer, row.head) for row in results.rows("ablation", Ablation) if row.needed}
    found: Numbers = {f"sufficient_hop{row.hops}": float(row.size) for row in sets}
    found |= {f"layers_hop{hops}": row.layers.value for hops, row in used.items()}
    most = used[max(used)] if used else None
    return found | {
        "needed_heads": float(len(needed)),
        "sufficient_heads": float(len({head for row in sets for head in read_heads(row.heads)})),
        "layers_per_hop": math.nan if most is None else most.layers.value / most.hops,
        "shortcut_share": math.nan if most is None else most.fewer.value,
        "chain_accuracy": float(np.mean(longer)) if longer else math.nan,
    }


def _length(results: Results) -> Numbers:
    """How far the model carries (Figure 5B)."""
    means = {
        row.length: row.accuracy.value
        for row in results.rows("accuracy", Accuracy)
        if row.hop is None and row.variation == AS_TRAINED
    }
    found = {f"accuracy_{length}": means[length] for length in LENGTHS if length in means}
    for row in results.rows("breaks", Break):
        if (row.what, row.source, row.hop, row.threshold) == (ACCURACY, MEASURED, None, HALF):
            found["break_length"] = row.length.value
    return found


def _geometry(results: Results, run: Run) -> Numbers:
    """The weighted frequency ID of each layer, mean over its heads, as if a head had the paper's 64 planes."""
    scale = PAPER_PLANES / max(run.config.model.rotated // 2, 1)
    by_layer: dict[int, list[float]] = {}
    for row in results.rows("ids", FrequencyId):
        if row.measure == VARIANCE:
            by_layer.setdefault(row.layer, []).append(scale * row.weighted_id.value)
    ids = {layer: float(np.mean(each)) for layer, each in by_layer.items()}
    found = {f"frequency_layer{layer}": value for layer, value in ids.items()}
    for name, layers in (("frequency_first", FIRST), ("frequency_late", LATE)):
        some = [ids[layer] for layer in layers if layer in ids]
        found[name] = float(np.mean(some)) if some else math.nan
    return found


def curve_of(name: str, results: Results, points: int) -> list[Point]:
    """The accuracies of each hop class along training, thinned to so many steps with both ends."""
    training = Training(results)
    chosen = np.unique(np.linspace(0, len(training.steps) - 1, points).round().astype(np.int64))
    return [
        Point(name, int(training.steps[at]), hop, round(float(training.accuracy[at, column]), 4))
        for at in chosen
        for column, hop in enumerate(training.hops)
    ]
