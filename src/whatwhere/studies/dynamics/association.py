"""Do heads become pure as the task is learned? Rank correlations over checkpoints, and lags (Sections 3.1 and 3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.stats import spearmanr

from whatwhere.heads.purity import KINDS, Kind, Purity
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.dynamics.learning import crossings
from whatwhere.studies.dynamics.tables import Lag
from whatwhere.studies.evidence import LEARNED
from whatwhere.trace.layer import counted


def rank_correlation(a: Shaped[np.ndarray, "step"], b: Shaped[np.ndarray, "step"]) -> float:
    """Spearman's rank correlation; NaN if one of the two never changes."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(spearmanr(a, b)[0])  # pyright: ignore[reportArgumentType]


def purity_by_layer(purity: Purity) -> Float[np.ndarray, "layer"]:
    """The step from which the last pure head of each layer stays pure; NaN for a layer without one."""
    since = np.fmin.reduce([purity.for_good(kind) for kind in KINDS])  # [layer, head]; NaN: does not end pure
    return np.fmax.reduce(since, axis=1)


POINTS = 100
"""Checkpoints that are ranked, at equal distances of the square root of the step: most happens early (Figure 2)."""


def at_scored_steps(run: Training) -> tuple[Int[np.ndarray, "step"], Float[np.ndarray, "step hop"]]:
    """Some of the checkpoints that were scored and evaluated, and the accuracies there.

    With all checkpoints of a long run, its end, where nothing changes, would dominate.
    """
    steps, scored, evaluated = np.intersect1d(run.scores.steps, run.steps, return_indices=True)
    wanted = steps[-1] * np.linspace(0, 1, POINTS) ** 2
    kept = np.unique(np.searchsorted(steps, wanted.round()))
    return scored[kept], run.accuracy[evaluated[kept]]


@dataclass(frozen=True)
class Association:
    """The correlation of two curves over checkpoints, compared with the same curves shifted far in time.

    Two curves that rise once always correlate; the shifts show whether they rise at about the same time.

    Attributes:
        correlation: Spearman's rank correlation.
        by_shift: share of the far shifts (by a quarter of the checkpoints or more) at which the two correlate as well.
        lag: the shift, in checkpoints, at which they correlate best; positive if the first curve (heads) comes later.
    """

    correlation: float
    by_shift: float
    lag: int

    def __str__(self) -> str:
        when = f"{counted(abs(self.lag), 'checkpoint')} {'later' if self.lag > 0 else 'earlier'}"
        return f"{self.correlation:.2f} (heads come {when if self.lag else 'at the same time'})"

    @classmethod
    def of(cls, a: Shaped[np.ndarray, "step"], b: Shaped[np.ndarray, "step"]) -> Association:
        """The association of two curves. A shifted curve is extended by its first or last value."""
        n = len(a)
        shifts = np.arange(1 - n, n)
        at = np.array([rank_correlation(a, b[np.clip(np.arange(n) - by, 0, n - 1)]) for by in shifts])
        if np.isnan(found := float(at[n - 1])):
            return cls(found, found, 0)
        best = shifts[np.flatnonzero(at >= np.nanmax(at) - 1e-12)]
        return cls(found, float((at[abs(shifts) >= n / 4] >= found).mean()), int(best[abs(best).argmin()]))


def purity_with_accuracy(run: Training) -> Association:
    """The number of pure heads with mean accuracy, over checkpoints."""
    (scored, accuracy), found = at_scored_steps(run), run.scores.purity()
    return Association.of((found.positional | found.symbolic).sum((1, 2))[scored], accuracy.mean(1))


def heads_with_hops(run: Training, kind: Kind) -> Association:
    """The pure heads of a kind with the hop classes that are learned, over checkpoints."""
    scored, accuracy = at_scored_steps(run)
    return Association.of(run.scores.purity().pure(kind).sum((1, 2))[scored], (accuracy >= LEARNED).sum(1))


def seen_learned(run: Training) -> dict[int, int]:
    """The first scored checkpoint at which each hop class is learned; the order between two checkpoints is unknown."""
    steps = run.scores.steps
    return {hop: int(steps[steps >= at].min(initial=steps[-1])) for hop, at in crossings(run).items()}


def pure_when_learned(run: Training, history: ScoreHistory, kind: Kind) -> dict[int, int]:
    """How many heads of a kind are pure for good when each hop class is seen to be learned."""
    pure = [step for step, _, _ in history.purity().joined(kind)]
    return {hop: sum(step <= seen for step in pure) for hop, seen in seen_learned(run).items()}


def lags(run: Training) -> list[Lag]:
    """How long after each hop class was learned each head became pure for good; negative if it was before."""
    learned = {hop: round(step) for hop, step in crossings(run).items() if step == step}
    return [
        Lag(layer, head, kind, hop, joined, step, joined - step)
        for kind in KINDS
        for joined, layer, head in run.scores.purity().joined(kind)
        for hop, step in learned.items()
    ]
