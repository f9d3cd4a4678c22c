"""What the scores say about caches: our own claims, not the paper's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.cache.tables import ABLE, POSITIONAL, About, Comparison, Policy
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested

HALF = 0.5


def beats(evidence: Evidence, other: str) -> Finding:
    """The loss by the positional score less that by another ranking, where it is least sure to be lower."""
    rows = [row for row in evidence.rows("cache", None, "comparisons", Comparison)
            if {row.ranking, row.other} == {POSITIONAL, other}]  # fmt: skip
    if not rows:
        raise NotTested(f"the rankings {POSITIONAL} and {other} were not both measured.")
    found = {row.budget: row.difference if row.ranking == POSITIONAL else _negated(row.difference) for row in rows}
    worst = max(found, key=lambda budget: found[budget].high)
    each = ", ".join(f"{100 * budget:g} %: {one.value:+.3f}" for budget, one in found.items())
    why = f"In nats per token, by share of streamed KV heads: {each}. It is least sure at {100 * worst:g} %."
    return Finding(found[worst].value, why, found[worst].interval, found[worst].n)


def _negated(one: Estimate) -> Estimate:
    return replace(one, value=-one.value, low=-one.high, high=-one.low)


def keeps_keys(evidence: Evidence) -> Finding:
    """Pass keys found with half of the KV heads streamed by the positional score, against the full cache."""
    (about,) = evidence.rows("cache", None, "about", About)
    if not about.passkey.value >= ABLE:
        raise NotTested(f"the model does not find pass keys with the full cache: {about.passkey}.")
    rows = [row for row in evidence.rows("cache", None, "policies", Policy)
            if (row.ranking, row.budget) == (POSITIONAL, HALF)]  # fmt: skip
    if not rows:
        raise NotTested("half of the KV heads by the positional score was not measured.")
    found, full = rows[0].passkey, about.passkey.value
    why = f"{found.value:.2f} of {found.n} prompts, and {full:.2f} with the full cache."
    return Finding(found.value - full, why, (found.low - full, found.high - full), found.n)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
