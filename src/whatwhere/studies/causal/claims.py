"""What positional and symbolic heads of a language model are for: our own readings, each against its control."""

from __future__ import annotations

from pathlib import Path

from whatwhere.heads.estimate import mean
from whatwhere.studies.causal.tables import CLOSE_FAST, CLOSE_SLOW, Effect, Run
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested


def excess(evidence: Evidence, label: str, change: str, probe: str) -> Finding:
    """How much more a change of a label's heads costs than the same change of other heads.

    A cost must exceed that of every random draw; a saving must stay below every one.
    """
    row = _effect(evidence, label, change, probe)
    sure = row.beaten == (row.draws if row.excess.value > 0 else 0)
    why = (
        f"The loss rises by {row.loss.value:.3f} nats, and by {row.control.value:.3f} with other heads; {row.beaten} "
        f"of {row.draws} random draws cost less."
    )
    return Finding(row.excess.value, why, row.excess.interval, row.excess.n, rest_holds=sure)


def fast_less_slow(evidence: Evidence, label: str, probe: str) -> Finding:
    """How much more it costs to close the fast planes of a label's heads than to close the slow ones."""
    fast, slow = (_effect(evidence, label, change, probe) for change in (CLOSE_FAST, CLOSE_SLOW))
    rows = evidence.rows("causal", None, "runs", Run)
    by_item = [
        {row.item: row.loss for row in rows if (*row.condition, row.probe) == (label, None, change, probe)}
        for change in (CLOSE_FAST, CLOSE_SLOW)
    ]
    seed = evidence.results("causal").settings.seed
    found = mean([loss - by_item[1][item] for item, loss in by_item[0].items()], seed=seed)
    why = (
        f"The loss rises by {fast.loss.value:.3f} nats without fast planes, by {slow.loss.value:.3f} without slow ones."
    )
    return Finding(found.value, why, found.interval, found.n)


def _effect(evidence: Evidence, label: str, change: str, probe: str) -> Effect:
    for row in evidence.rows("causal", None, "effects", Effect):
        if (row.label, row.change, row.probe) == (label, change, probe):
            return row
    raise NotTested(f"the model has too few {label} heads, or does not do better than chance on {probe!r}.")


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
