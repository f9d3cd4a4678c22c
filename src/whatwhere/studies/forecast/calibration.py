"""The quality of forecasts: error over the models that break, order over all of them, including censored ones.

A model that has not broken at the longest length is *censored*: it breaks somewhere beyond. It has no error, but it
breaks after every model that did break. The concordance is the share of such pairs that a forecast puts in the right
order (Harrell's C; 1/2 is chance). A prediction beyond the longest length counts as the longest length, for every
method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from whatwhere.heads.estimate import RESAMPLES, UNDEFINED, Estimate, mean, percentiles
from whatwhere.studies.forecast.tables import (
    MEDIAN,
    METHODS,
    TASK_MEDIAN,
    THRESHOLDS,
    Calibration,
    MeasuredBreak,
    PredictedBreak,
    Variant,
)

HELD_OUT, TUNED_ON, ALL = "held out", "tuned on", "all"
TUNED_WEIGHTS: tuple[str, ...] = ("930e383fb02789e7", "c7bc7aeb1be2db13")
"""The shipped models of seed 10: the method was chosen on them and on their variations, and the medians are theirs."""
MEDIANS: dict[float, dict[str, float]] = {
    0.9: {ALL: 51.1, "number": 47.8, "letter": 291.2},
    0.5: {ALL: 98.5, "number": 55.9, "letter": 823.5},
}
"""By threshold, the median break of the eight tuning variants of each task and of all sixteen (docs/forecast.md); one
that does not break within 1,000 tokens counts as 1,000."""


@dataclass(frozen=True)
class Point:
    """One variant at one threshold: where it breaks, and what each method predicts."""

    variant: Variant
    threshold: float
    length: float
    """Where it breaks, or the longest length measured if it is censored."""
    censored: bool
    predicted: Mapping[str, float]
    """By method; NaN if it predicts nothing."""


def points(rows: Callable[[str, type[Any]], list[Any]]) -> list[Point]:
    """Measured and predicted breaks; ``rows`` gives a table of the study as rows of its type."""
    variants: list[Variant] = rows("variants", Variant)
    forecasts: list[PredictedBreak] = rows("forecasts", PredictedBreak)
    breaks: list[MeasuredBreak] = rows("breaks", MeasuredBreak)
    by_name = {(one.model, one.variation): one for one in variants}
    predictions: dict[tuple[str, str, float], dict[str, float]] = {}
    longest = max((row.longest for row in breaks), default=0)
    for row in forecasts:
        at = longest if row.beyond else min(row.length, longest) if row.length == row.length else math.nan
        predictions.setdefault((row.model, row.variation, row.threshold), {})[row.method] = at
    made = []
    for row in breaks:
        variant, censored = by_name[row.model, row.variation], math.isnan(row.length.value)
        medians = MEDIANS[row.threshold]
        usual = {MEDIAN: medians[ALL], TASK_MEDIAN: medians.get(variant.task, medians[ALL])}
        predicted = predictions[row.model, row.variation, row.threshold] | usual
        made.append(Point(variant, row.threshold, longest if censored else row.length.value, censored, predicted))
    return made


def groups(found: Sequence[Point]) -> dict[str, list[Point]]:
    """All, held out, tuned on, and each model; empty groups are left out."""
    made = {
        HELD_OUT: [one for one in found if not one.variant.tuned],
        TUNED_ON: [one for one in found if one.variant.tuned],
        ALL: list(found),
    }
    for one in found:
        made.setdefault(one.variant.model, []).append(one)
    return {name: some for name, some in made.items() if some}


def calibration_rows(found: Sequence[Point], seed: int = 0) -> list[Calibration]:
    """Every group, threshold and method."""
    return [
        calibrate(name, [one for one in some if one.threshold == threshold], threshold, method, seed)
        for name, some in groups(found).items()
        for threshold in THRESHOLDS
        for method in METHODS
    ]


def calibrate(group: str, some: Sequence[Point], threshold: float, method: str, seed: int = 0) -> Calibration:
    """One method on one group; intervals resample variants."""
    defined = [one for one in some if not math.isnan(one.predicted[method])]
    lengths = np.log2([one.length for one in defined])
    predictions = np.log2([one.predicted[method] for one in defined])
    censored = np.array([one.censored for one in defined], bool)
    off = (predictions - lengths)[~censored]
    return Calibration(
        group, threshold, method, mean(np.abs(off), seed=seed), mean(off, seed=seed),
        concordance(predictions, lengths, censored, seed), int((~censored).sum()), int(censored.sum()),
        len(some) - len(defined),
    )  # fmt: skip


def concordance(
    predictions: Float[np.ndarray, "n"], lengths: Float[np.ndarray, "n"], censored: Bool[np.ndarray, "n"], seed: int = 0
) -> Estimate:
    """Of the pairs with a known order, the share that a forecast puts in this order; ties count half.

    The order is known if the earlier one broke: before the other broke, or while the other had not.
    """
    n = len(predictions)
    first = (lengths[:, None] < lengths) | ((lengths[:, None] == lengths) & censored)
    sure = (~censored[:, None] & first).astype(np.float64)  # [earlier, later]
    if not sure.any():
        return UNDEFINED
    score = sure * ((predictions[:, None] < predictions) + 0.5 * (predictions[:, None] == predictions))
    times = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    upper, lower = ((times @ matrix * times).sum(1) for matrix in (score, sure))
    drawn = np.divide(upper, lower, out=np.full(RESAMPLES, np.nan), where=lower > 0)
    low, high = percentiles(drawn[:, None])
    return Estimate(float(score.sum() / sure.sum()), float(low[0]), float(high[0]), int(sure.sum()))
