"""Roles against ablations: a role that was read off attention counts only if the model needs the head for it.

A layer that brings the answer to positions d hops away should be needed by every input of d or more hops.
"""

from __future__ import annotations

from collections.abc import Sequence

from whatwhere.heads.estimate import Estimate, share
from whatwhere.studies.mechanism.tables import Ablation, Delivery, Role, Verdict

SERVES = 0.25
"""A layer serves a distance if it brings the answer to at least this share of the positions there."""


def judge(roles: Sequence[Role], deliveries: Sequence[Delivery], ablations: Sequence[Ablation]) -> list[Verdict]:
    """Compares roles with ablations, head by head."""
    classes = sorted({row.hops for row in ablations})
    verdicts = []
    for layer, head in sorted({(row.layer, row.head) for row in ablations}):
        serves = [row.distance for row in deliveries if row.layer == layer and row.share.value >= SERVES]
        expected = [hops for hops in classes if serves and hops >= min(serves)]
        needed_by = [row.hops for row in ablations if (row.layer, row.head) == (layer, head) and row.needed]
        asked = [row for row in roles if (row.layer, row.head, row.queries) == (layer, head, "path")]
        chosen = [row for row in asked if row.distance in serves] or [row for row in asked if row.distance is None]
        role, of_queries = _commonest(chosen)
        distances, expecting, needing = (" ".join(map(str, numbers)) for numbers in (serves, expected, needed_by))
        verdict = _verdict(expected, needed_by)
        verdicts.append(Verdict(layer, head, role, of_queries, distances, expecting, needing, verdict))
    return verdicts


def _commonest(rows: Sequence[Role]) -> tuple[str, Estimate]:
    """The role with most queries, and its share of them."""
    hits: dict[str, int] = {}
    for row in rows:
        hits[row.role] = hits.get(row.role, 0) + round(row.share.value * row.share.n)
    role = max(hits, key=lambda name: hits[name])
    return role, share(hits[role], sum(row.share.n for row in rows if row.role == role))


def _verdict(expected: Sequence[int], needed_by: Sequence[int]) -> str:
    if not expected:
        return "needed otherwise" if needed_by else "idle"
    confirmed = set(expected) & set(needed_by)
    return "confirmed" if confirmed == set(expected) else "partly" if confirmed else "not needed"
