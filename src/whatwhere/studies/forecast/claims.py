"""Do forecasts hold on models that nothing was chosen on? Our own readings of Sections 3.5 and 3.6."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.forecast.calibration import HELD_OUT, Point, calibrate, groups, points
from whatwhere.studies.forecast.tables import CARRIED, Calibration
from whatwhere.studies.terminal import spanned

HALF, NEARLY_ALL = 0.5, 0.9


def held_out(evidence: Evidence) -> list[Point]:
    """The held-out variants of all models with results.

    Raises:
        NotTested: there are none.
    """
    found: list[Point] = []
    refused: NotTested | None = None
    for model in ("number", "letter"):
        try:
            found += points(partial(evidence.rows, "forecast", model))
        except NotTested as reason:
            refused = refused or reason
    if not found and refused is not None:
        raise refused
    if HELD_OUT not in groups(found):
        raise NotTested("every model here is one that the forecast was chosen on; add others with --more.")
    return groups(found)[HELD_OUT]


def calibration(evidence: Evidence, method: str, threshold: float, beside: str = CARRIED) -> Calibration:
    """How good a method is on held-out variants for which another method has a forecast, too.

    Raises:
        NotTested: none of them breaks.
    """
    some = [one for one in held_out(evidence) if one.threshold == threshold and not math.isnan(one.predicted[beside])]
    found = calibrate(HELD_OUT, some, threshold, method)
    if not found.broken:
        raise NotTested(f"none of {len(some)} held-out variants falls below {threshold}.")
    return found


def beats(evidence: Evidence, method: str) -> Finding:
    """By how much the error of a baseline exceeds that of the forecast, in powers of two, on the same variants."""
    leads: dict[float, Finding] = {}
    for threshold in (HALF, NEARLY_ALL):
        ours, theirs = calibration(evidence, CARRIED, threshold, method), calibration(evidence, method, threshold)
        interval = theirs.error.low - ours.error.high, theirs.error.high - ours.error.low
        one, other = (spanned(found.error, ".3f", " to ") for found in (ours, theirs))
        why = f"Below {threshold}: {one} against {other}, {_sample(evidence, ours)}."
        leads[threshold] = Finding(theirs.error.value - ours.error.value, why, interval)
    half, other = leads[HALF], leads[NEARLY_ALL]
    elsewhere = {"threshold": {str(NEARLY_ALL): other.value}}
    return Finding(half.value, f"{half.why} {other.why}", half.interval, elsewhere=elsewhere)


def _sample(evidence: Evidence, found: Calibration) -> str:
    """What the interval resamples, and the number of trainings: variants of one training are similar."""
    trainings = len({(one.variant.model, one.variant.weights) for one in held_out(evidence)})
    return f"{found.broken} variants of {trainings} training{'s' * (trainings > 1)}"


def error(evidence: Evidence) -> Finding:
    """The mean absolute log2 error of the forecast."""
    half, other = (calibration(evidence, CARRIED, threshold) for threshold in (HALF, NEARLY_ALL))
    why = f"{_sample(evidence, half)} break, {half.censored} do not; on average log2 is off by {half.bias.value:+.3f}."
    elsewhere = {"threshold": {str(NEARLY_ALL): other.error.value}}
    return Finding(half.error.value, why, half.error.interval, elsewhere=elsewhere)


def order(evidence: Evidence) -> Finding:
    """The concordance of the forecast."""
    half, other = (calibration(evidence, CARRIED, threshold).concordance for threshold in (HALF, NEARLY_ALL))
    if math.isnan(half.value):
        raise NotTested("no two held-out variants surely break one after the other.")
    why = f"{half.n} pairs of which one surely breaks first."
    elsewhere = {"threshold": {str(NEARLY_ALL): other.value}}
    return Finding(half.value, why, half.interval, elsewhere=elsewhere)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
