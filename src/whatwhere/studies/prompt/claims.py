"""Whether short prompts foresee long ones: our own readings; the paper asks it of its own models alone."""

from __future__ import annotations

from math import isnan
from pathlib import Path

from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.prompt.tables import About, Forecast, KeyHead, Without


def off(evidence: Evidence, rule: str) -> Finding:
    """By how many doublings a forecast is off."""
    about = _able(evidence)
    row = next(row for row in evidence.rows("prompt", None, "forecasts", Forecast) if row.rule == rule)
    if isnan(row.off):
        raise NotTested("no prompt was longer than those that the forecast is made from.")
    foreseen = "no failure" if isnan(row.length.value) else f"failure at {row.length.value:,.0f} tokens"
    seen = f"none up to {about.longest:,}" if isnan(about.measured) else f"it at {about.measured:,.0f}"
    return Finding(row.off, f"Foreseen is {foreseen}; measured, {seen}.", inputs=row.length.n)


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
    return Finding(by["others"].value - by["followed"].value, why, inputs=by["none"].n)


def _able(evidence: Evidence) -> About:
    (about,) = evidence.rows("prompt", None, "about", About)
    if not about.able:
        raise NotTested("the model does not find half of the pass keys in the shortest prompts.")
    return about


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
