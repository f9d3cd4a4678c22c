"""Chains beyond training, the layers they take, and looped blocks: our own readings (Section 4 leaves them open)."""

from __future__ import annotations

from pathlib import Path

from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.hops.tables import Confirmed, LoopedAccuracy
from whatwhere.studies.mechanism.tables import LayersUsed

LEAST_SEEN = 0.5
"""The least share of inputs of a hop count with a readable answer, for a statement about its layers."""
CEILING = 0.99
"""The accuracy beyond training from which a loop cannot improve it."""


def plain_accuracy(evidence: Evidence, model: str) -> list[LoopedAccuracy]:
    """The accuracies without a loop; raises NotTested for a model that has not learned its task."""
    rows = [row for row in evidence.rows("hops", model, "accuracy", LoopedAccuracy) if row.first is None]
    require_learned(model, [row.accuracy.value for row in rows if row.trained])
    return rows


def longer_chains(evidence: Evidence, model: str) -> Finding:
    """The lowest accuracy beyond the trained hops, where a guess cannot be right."""
    rows = [row for row in plain_accuracy(evidence, model) if not row.trained and row.guess < 1]
    if not rows:
        raise NotTested("no chain is longer than those of training.")
    worst = min(rows, key=lambda row: row.accuracy.value)
    listed = ", ".join(f"{row.hops} hops {row.accuracy.value:.2f}" for row in rows)
    return Finding(worst.accuracy.value, f"{listed}.", worst.accuracy.interval, worst.accuracy.n)


def layers_per_hop(evidence: Evidence, model: str) -> Finding:
    """The mean increase of the layers used from the longest trained chain to the longest that is often readable.

    Hop counts whose answer can be found without a hop (a guess of 1) are left out.
    """
    plain = {row.hops: row for row in plain_accuracy(evidence, model)}
    trained = max(hops for hops, row in plain.items() if row.trained)
    rows = [
        row
        for row in evidence.rows("hops", model, "layers", LayersUsed)
        if row.hops >= trained and plain[row.hops].guess < 1 and row.layers.n >= LEAST_SEEN * (row.layers.n + row.never)
    ]
    if len(rows) < 2 or rows[0].hops != trained:
        raise NotTested("the answers to longer chains can hardly ever be read at the last token.")
    start, end = rows[0], rows[-1]
    more = end.hops - start.hops
    low, high = end.layers.low - start.layers.high, end.layers.high - start.layers.low
    listed = ", ".join(f"{row.hops} hops {row.layers.value:.2f}" for row in rows)
    value = (end.layers.value - start.layers.value) / more
    return Finding(value, f"Layers: {listed}.", (low / more, high / more), end.layers.n)


def looped(evidence: Evidence, model: str, which: str) -> Finding:
    """The lead of a loop over the model as it is, beyond the trained hops, on inputs that did not choose it."""
    plain_accuracy(evidence, model)
    found = [row for row in evidence.rows("hops", model, "confirmed", Confirmed) if row.choice == which]
    if not found:
        raise NotTested("nothing was looped, or no chain is longer than those of training.")
    (row,) = found
    if row.before.value >= CEILING:
        raise NotTested(
            f"nothing is left to gain: {row.before.value:.3f} of the longer chains are right without a loop."
        )
    blocks = f"block {row.first}" if row.first == row.last else f"blocks {row.first} to {row.last}"
    why = f"{blocks} run {row.loops} more times: {row.after.value:.3f} instead of {row.before.value:.3f}."
    return Finding(row.lead.value, why.capitalize(), row.lead.interval, row.lead.n)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
