"""Do short prompts predict where long ones fail? Our own readings; the paper asks it of its own models alone."""

from __future__ import annotations

from math import isnan, log2
from pathlib import Path

from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.prompt.forecasting import FARTHEST
from whatwhere.studies.prompt.tables import About, Forecast, KeyHead, LengthRow, Without

NEAR = 1.0
"""Doublings: the threshold of both forecasts."""


def off(evidence: Evidence, rule: str) -> Finding:
    """By how many doublings a forecast is off, with the interval of the forecast.

    Raises:
        NotTested: nothing was tested: no longer prompt was asked, the model fails within the short prompts, or
            it does not fail and the forecast is not refuted by that.
    """
    about = _able(evidence)
    row = next(row for row in evidence.rows("prompt", None, "forecasts", Forecast) if row.rule == rule)
    short = max(one.length for one in evidence.rows("prompt", None, "lengths", LengthRow) if one.short)
    if isnan(row.off):
        raise NotTested("no prompt was longer than those that the forecast is made from.")
    if about.measured <= short:
        raise NotTested(
            f"the model fails at {about.measured:,.0f} tokens, within the short prompts: nothing to predict."
        )
    predicted = "no failure" if isnan(row.length.value) else f"failure at {row.length.value:,.0f} tokens"
    if isnan(about.measured):
        if row.off <= NEAR:
            raise NotTested(
                f"no failure up to {about.longest:,} tokens; the forecast is {predicted}. Ask longer prompts."
            )
        return Finding(
            row.off, f"The forecast is {predicted}; none was seen up to {about.longest:,}.", inputs=row.length.n
        )
    ends = [log2((FARTHEST if isnan(end) else end) / about.measured) for end in row.length.interval]
    interval = (max(0.0, ends[0], -ends[1]), max(map(abs, ends)))
    why = f"The forecast is {predicted}; the model fails at {about.measured:,.0f}."
    return Finding(row.off, why, interval, row.length.n)


def symbolic_share(evidence: Evidence) -> Finding:
    """The share of purely symbolic heads among those that look at the key most."""
    _able(evidence)
    labels = [row.label for row in evidence.rows("prompt", None, "heads", KeyHead)]
    count = labels.count("symbolic")
    why = f"{count} of {len(labels)} heads are purely symbolic, {labels.count('positional')} purely positional."
    return Finding(count / len(labels), why)


def needed(evidence: Evidence) -> Finding:
    """The margin without random other heads less that without the heads that look at the key."""
    _able(evidence)
    by = {row.which: row.margin for row in evidence.rows("prompt", None, "without", Without)}
    why = (
        f"The mean margin is {by['none'].value:.1f}; without these heads {by['followed'].value:.1f}, without as many "
        f"others in the same layers {by['others'].value:.1f}."
    )
    interval = by["others"].low - by["followed"].high, by["others"].high - by["followed"].low
    return Finding(by["others"].value - by["followed"].value, why, interval, by["none"].n)


def _able(evidence: Evidence) -> About:
    (about,) = evidence.rows("prompt", None, "about", About)
    if not about.able:
        raise NotTested("the model does not find half of the pass keys in the shortest prompts.")
    return about


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
