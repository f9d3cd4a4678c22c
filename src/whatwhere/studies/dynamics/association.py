"""Do heads become pure as the task is learned? Ranks over checkpoints, and which comes first (Sections 3.1 and 3.3)."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.stats import spearmanr

from whatwhere.heads.purity import KINDS, Kind, Purity
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.learning import crossings
from whatwhere.studies.dynamics.tables import Lag
from whatwhere.studies.evidence import LEARNED


def rank_correlation(a: Shaped[np.ndarray, "step"], b: Shaped[np.ndarray, "step"]) -> float:
    """Spearman's rank correlation; NaN if one of the two never changes."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(spearmanr(a, b)[0])  # pyright: ignore[reportArgumentType]


def purity_by_layer(purity: Purity) -> Float[np.ndarray, "layer"]:
    """The step from which the last pure head of each layer stays pure; NaN for a layer without one."""
    since = np.fmin.reduce([purity.for_good(kind) for kind in KINDS])  # [layer, head]; NaN: does not end pure
    return np.fmax.reduce(since, axis=1)


def at_scored_steps(run: Training) -> tuple[Int[np.ndarray, "step"], Float[np.ndarray, "step hop"]]:
    """Which scored checkpoints were evaluated too, and the accuracies there."""
    _, scored, evaluated = np.intersect1d(run.scores.steps, run.steps, return_indices=True)
    return scored, run.accuracy[evaluated]


def purity_with_accuracy(run: Training) -> float:
    """Rank correlation, over checkpoints, of the number of pure heads with mean accuracy."""
    (scored, accuracy), found = at_scored_steps(run), run.scores.purity()
    return rank_correlation((found.positional | found.symbolic).sum((1, 2))[scored], accuracy.mean(1))


def heads_with_hops(run: Training, kind: Kind) -> float:
    """Rank correlation, over checkpoints, of the pure heads of a kind with the hop classes that are learned."""
    scored, accuracy = at_scored_steps(run)
    return rank_correlation(run.scores.purity().pure(kind).sum((1, 2))[scored], (accuracy >= LEARNED).sum(1))


def lags(run: Training) -> list[Lag]:
    """How long after each hop class was learned each head became pure for good; negative if it was before."""
    learned = {hop: round(step) for hop, step in crossings(run).items() if step == step}
    return [
        Lag(layer, head, kind, hop, joined, step, joined - step)
        for kind in KINDS
        for joined, layer, head in run.scores.purity().joined(kind)
        for hop, step in learned.items()
    ]
