"""From short prompts to the length where a model fails.

A longer prompt has more keys that compete with the right one. If each of them gets as much attention as those before,
the odds of the right one fall with the length, and the log-odds fall in proportion to its logarithm. Two rules follow:

- ``margin``: the margin of the answer is a straight line in log2(length). It reaches 0 at the length predicted.
- ``attention``: the log-odds of the attention that the followed heads pay to the key are such a line, and the margin is
  a straight line in the attention. The length predicted is where attention falls to what leaves no margin.

Lines are of least squares over all short prompts. Intervals resample prompts, each with all its lengths. A line that
does not fall predicts no failure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logit

from whatwhere.heads.estimate import UNDEFINED, Estimate, percentiles
from whatwhere.studies.prompt.tables import ATTENTION, MARGIN, RULES, Answer, Forecast

RESAMPLES = 500
FARTHEST = 2.0**20
"""Lengths beyond a million tokens count as no failure."""
_LEAST = 1e-6
"""The least attention whose log-odds are used."""


def forecasts(answers: Sequence[Answer], measured: float, longest: int, *, checked: bool, seed: int) -> list[Forecast]:
    """What each rule predicts from the answers to short prompts.

    ``measured`` is the length at which the model failed, NaN if it did not; ``checked`` tells whether there was
    anything beyond the short prompts.
    """
    by_prompt = [
        np.array([(a.length, a.margin, a.attention) for a in answers if a.prompt == number])
        for number in sorted({a.prompt for a in answers})
    ]
    found, count = [], len(by_prompt)
    for rule in RULES:
        value, slope = _crossing(rule, np.concatenate(by_prompt))
        rng = np.random.default_rng(seed)
        samples = (np.concatenate([by_prompt[at] for at in rng.choice(count, count)]) for _ in range(RESAMPLES))
        ends = percentiles(np.array([_crossing(rule, sample)[0] for sample in samples]).clip(max=FARTHEST))
        seen, low, high = (float(end) if end < FARTHEST else math.nan for end in (value, *ends))
        off = _off(value, measured, longest, checked)
        found.append(Forecast(rule, Estimate(seen, low, high, count), slope, off))
    return found


def nothing_predicted() -> list[Forecast]:
    """For a model that does not find keys in the shortest prompts."""
    return [Forecast(rule, UNDEFINED, math.nan, math.nan) for rule in RULES]


def _crossing(rule: str, points: np.ndarray) -> tuple[float, float]:
    """The predicted length, infinite if there is none, and the slope per doubling; points: [length, margin, mass]."""
    doublings, margin, mass = np.log2(points[:, 0]), points[:, 1], points[:, 2]
    if rule == MARGIN:
        return _where(doublings, margin, 0.0)
    assert rule == ATTENTION
    odds = logit(mass.clip(_LEAST, 1 - _LEAST))
    gain, start = np.polyfit(mass, margin, 1) if np.ptp(mass) > 0 else (0.0, 0.0)
    if not (gain > 0 and start < 0):  # attention does not help, or there would be a margin without any
        return math.inf, _where(doublings, odds, 0.0)[1]
    return _where(doublings, odds, float(logit(min(-start / gain, 1 - _LEAST))))


def _where(doublings: np.ndarray, values: np.ndarray, level: float) -> tuple[float, float]:
    """Where a straight line falls to a level, as a length, and its slope."""
    slope, start = np.polyfit(doublings, values, 1)
    if not slope < 0:
        return math.inf, float(slope)
    return float(np.exp2(min((level - start) / slope, 64.0))), float(slope)


def _off(predicted: float, measured: float, longest: int, checked: bool) -> float:
    predicted = min(predicted, FARTHEST)
    if math.isnan(measured):
        return max(0.0, math.log2(longest / predicted)) if checked else math.nan
    return abs(math.log2(predicted / measured))
