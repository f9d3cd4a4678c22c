"""Roles against ablations: a role that was read off attention counts only if the model needs the head for it.

A layer that brings the answer to positions d hops away should be needed by every input of d or more hops.
"""

from __future__ import annotations

from collections.abc import Sequence

from whatwhere.heads.roles import RoleShare
from whatwhere.studies.mechanism.tables import Ablation, Delivery, Verdict

SERVES = 0.25
"""A layer serves a distance if it brings the answer to at least this share of the positions there."""


def served_distances(deliveries: Sequence[Delivery]) -> dict[int, list[int]]:
    """For each layer the distances that it serves."""
    return {
        layer: [row.distance for row in deliveries if row.layer == layer and row.share.value >= SERVES]
        for layer in sorted({row.layer for row in deliveries})
    }


def judge(roles: Sequence[RoleShare], deliveries: Sequence[Delivery], ablations: Sequence[Ablation]) -> list[Verdict]:
    """Compares roles with ablations, head by head."""
    classes, served = sorted({row.hops for row in ablations}), served_distances(deliveries)
    verdicts = []
    for layer, head in sorted({(row.layer, row.head) for row in ablations}):
        serves = served.get(layer, [])
        expected = [hops for hops in classes if serves and hops >= min(serves)]
        needed_by = [row.hops for row in ablations if (row.layer, row.head) == (layer, head) and row.needed]
        asked = [row for row in roles if (row.layer, row.head, row.distance) == (layer, head, None)]
        chosen = [row for row in asked if row.queries == ("served" if serves else "path")]
        best = max(chosen, key=lambda row: row.share.value)
        distances, expecting, needing = (" ".join(map(str, numbers)) for numbers in (serves, expected, needed_by))
        verdict = _verdict(expected, needed_by)
        verdicts.append(Verdict(layer, head, best.role, best.share, distances, expecting, needing, verdict))
    return verdicts


def _verdict(expected: Sequence[int], needed_by: Sequence[int]) -> str:
    if not expected:
        return "needed otherwise" if needed_by else "idle"
    confirmed = set(expected) & set(needed_by)
    return "confirmed" if confirmed == set(expected) else "partly" if confirmed else "not needed"
