"""Our own readings of a language model's growth; the paper names larger models as future work."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from whatwhere.heads.estimate import percentiles
from whatwhere.heads.purity import KINDS
from whatwhere.studies.claim import Finding, listed, read_claims
from whatwhere.studies.dynamics.association import rank_correlation
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.growth.onsets import heads_at_end
from whatwhere.studies.growth.tables import COPYING, INDUCTION, POSITIONAL, PREVIOUS, SYMBOLIC, Loss, Onset

_RESAMPLES = 1000
LEARNS = 1.0
"""Nats by which the held-out loss must fall."""


def kinds(evidence: Evidence) -> Finding:
    """How many kinds of heads end pure."""
    events = [row.event for row in _onsets(evidence)]
    counts = {kind: events.count(kind) for kind in KINDS}
    why = f"At the end {listed([f'{count} heads are {kind}' for kind, count in counts.items()])}."
    return Finding(float(sum(count > 0 for count in counts.values())), why)


def symbolic_over_positional(evidence: Evidence) -> Finding:
    """How much later the first symbolic head appears than the first positional one."""
    positional, symbolic = (_first(evidence, event) for event in (POSITIONAL, SYMBOLIC))
    why = f"The first positional head comes at {positional:,} tokens, the first symbolic one at {symbolic:,}."
    return Finding(symbolic / max(positional, 1), why)


def copying_and_symbolic(evidence: Evidence) -> Finding:
    """The distance between the onset of copying and of the first symbolic head, as a power of two."""
    copying, symbolic = (_first(evidence, event) for event in (COPYING, SYMBOLIC))
    why = f"The model copies from {copying:,} tokens on; its first symbolic head comes at {symbolic:,}."
    return Finding(abs(math.log2(max(copying, 1) / max(symbolic, 1))), why)


def induction_and_scores(evidence: Evidence) -> Finding:
    """The rank correlation of induction mass with the symbolic score less the positional one."""
    return _correlation(evidence, INDUCTION, 1)


def previous_and_scores(evidence: Evidence) -> Finding:
    """The rank correlation of previous-token mass with the positional score less the symbolic one."""
    return _correlation(evidence, PREVIOUS, -1)


def _onsets(evidence: Evidence) -> list[Onset]:
    """The events; raises NotTested for a model that has hardly learned."""
    losses = [row.held_out for row in evidence.rows("growth", None, "losses", Loss)]
    if not losses[0] - losses[-1] >= LEARNS:
        raise NotTested(
            f"the model has hardly learned: held-out loss {losses[0]:.2f} to {losses[-1]:.2f} nats, and a fall of "
            f"{LEARNS:g} is expected; train on more tokens."
        )
    return evidence.rows("growth", None, "onsets", Onset)


def _first(evidence: Evidence, event: str) -> int:
    """The tokens seen at the first onset of an event."""
    found = [row.tokens for row in _onsets(evidence) if row.event == event]
    if not found:
        raise NotTested(f"no event {event!r} holds at the end of the training.")
    return min(found)


def _correlation(evidence: Evidence, detector: str, sign: int) -> Finding:
    """Over heads at the last evaluation, if one of them does it; the interval draws heads again."""
    _first(evidence, detector)
    both = heads_at_end(evidence.results("growth"))
    leans = sign * (both["symbolic"] - both["positional"]).to_numpy()
    mass = both[detector].to_numpy()
    draws = np.random.default_rng(0).integers(0, len(both), (_RESAMPLES, len(both)))
    if math.isnan(value := rank_correlation(mass, leans)):
        raise NotTested(f"all heads have the same {detector} mass, or the same scores.")
    drawn = [rank_correlation(mass[draw], leans[draw]) for draw in draws]
    low, high = percentiles(np.array(drawn)[:, None])
    top = both.loc[both[detector].idxmax()]
    why = (
        f"Over {len(both)} heads. The largest {detector} mass is {top[detector]:.2f}, of head "
        f"{top['layer']:.0f}.{top['head']:.0f} (positional {top['positional']:.2f}, symbolic {top['symbolic']:.2f})."
    )
    return Finding(value, why, (float(low[0]), float(high[0])))


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
