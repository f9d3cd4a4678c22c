"""Does a penalty on the positional score make training prefer symbolic solutions? Judged on the arms of a sweep."""

from __future__ import annotations

from pathlib import Path

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.preference.tables import SYMBOLIC, Accuracy, Answer, means_by_length, share_of
from whatwhere.tasks.both import EVERY

LONGEST = 850


def answers_symbolically(evidence: Evidence) -> Finding:
    """The share of symbolic answers of the penalised model at the training length."""
    found = _symbolic(evidence, "penalty")
    return Finding(found.value, "Cues disagree on every hop; mean over hop classes.", found.interval, found.n)


def more_symbolic(evidence: Evidence) -> Finding:
    """How much more often the penalised model answers symbolically than the plain one, at the training length."""
    return _difference(_symbolic(evidence, "penalty"), _symbolic(evidence, "plain"), "of symbolic answers")


def carries_further(evidence: Evidence) -> Finding:
    """How much more accurate the penalised model is than the plain one at 850 tokens."""
    both = [_accuracies(evidence, arm) for arm in ("penalty", "plain")]
    for arm, found in zip(("penalised", "plain"), both, strict=True):
        if LONGEST not in found:
            raise NotTested(f"the {arm} model was not measured at {LONGEST} tokens.")
    return _difference(both[0][LONGEST], both[1][LONGEST], f"right at {LONGEST} tokens")


def equal_accuracy(evidence: Evidence) -> Finding:
    """How much more accurate the penalised model is than the plain one at the training length."""
    penalised, plain = (_accuracies(evidence, arm, learned=False) for arm in ("penalty", "plain"))
    trained = min(plain)
    return _difference(penalised[trained], plain[trained], f"right at {trained} tokens")


def _symbolic(evidence: Evidence, arm: str) -> Estimate:
    trained = min(_accuracies(evidence, arm))
    return share_of(evidence.rows("preference", arm, "answers", Answer), SYMBOLIC, trained, EVERY)


def _accuracies(evidence: Evidence, arm: str, *, learned: bool = True) -> dict[int, Estimate]:
    """Mean accuracy by length; by default of a model that has learned its task."""
    rows = evidence.rows("preference", arm, "accuracy", Accuracy)
    means = means_by_length(rows)
    if learned:
        require_learned(arm, [r.accuracy.value for r in rows if r.length == min(means) and r.hop is not None])
    return means


def _difference(penalised: Estimate, plain: Estimate, what: str) -> Finding:
    interval = penalised.low - plain.high, penalised.high - plain.low
    why = f"Penalised {penalised.value:.2f}, plain {plain.value:.2f} {what}."
    return Finding(penalised.value - plain.value, why, interval, min(penalised.n, plain.n))


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
