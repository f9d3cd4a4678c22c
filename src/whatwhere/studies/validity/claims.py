"""What heads of known nature say about the scores (Appendix "Positional and symbolic scores")."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.heads.weighting import TAU, TAUS
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.validity.tables import ADDITIVE, FLAT, ONE_HOT, ROTARY, KnownScore, NullLabel, PermutationScore
from whatwhere.theory.printed import LENGTH


def limits(evidence: Evidence) -> Finding:
    """The largest departure of pure, one-hot and flat heads from what they must read."""
    off = []
    for row in _scores(evidence):
        both = {0.0: (row.positional.value, row.symbolic.value), 1.0: (row.symbolic.value, row.positional.value)}
        if row.family == FLAT:
            off += [abs(row.centred_positional), abs(row.centred_symbolic)]
        elif row.family in (ADDITIVE, ONE_HOT) and row.share in both:
            own, other = both[row.share]
            off += [abs(1 - own), *([abs(other - _still(row.tau))] if row.family == ONE_HOT else [])]
    for row in evidence.rows("validity", None, "permutations", PermutationScore):
        if (row.share, row.score) in ((0.0, KINDS[0]), (1.0, KINDS[1])):
            off.append(abs(1 - row.permutations))
    return Finding(max(off), f"The largest departure of {len(off)} scores, by swaps and by permutations.")


def _still(tau: float) -> float:
    """The other score of a one-hot head: the weight of the swaps that move nothing, which are positional and symbolic.

    Of K keys K - 1 swaps move the peak and (K - 1)(K - 2) / 2 do not.
    """
    still = (LENGTH - 3) / 2 * math.exp(-1 / tau)
    return still / (1 + still)


def rises_with_share(evidence: Evidence) -> Finding:
    """At how many steps of the known share a mean score goes the wrong way."""
    rows = [row for row in _scores(evidence) if row.family in (ADDITIVE, ROTARY)]
    series: dict[tuple[str, int, float], list[KnownScore]] = {}
    for row in sorted(rows, key=lambda row: row.share):
        series.setdefault((row.family, round(10 * row.entropy), row.tau), []).append(row)
    steps = [(one, other) for same in series.values() for one, other in pairwise(same)]
    wrong = sum(b.symbolic.value <= a.symbolic.value or b.positional.value >= a.positional.value for a, b in steps)
    middle = [abs(row.positional.value - row.symbolic.value) for row in rows if row.share == 0.5]
    why = f"{wrong} of {len(steps)} steps. Where position and content share equally, scores differ by {max(middle):.2f}"
    return Finding(float(wrong), f"{why} at most.", None, len(steps))


def moved_by_tau(evidence: Evidence) -> Finding:
    """The largest change of a mean score of mixed heads over the band of tau; by sharpness."""
    kinds: dict[tuple[int, str, float], list[KnownScore]] = {}
    for row in _scores(evidence):
        if row.family in (ADDITIVE, ROTARY):
            kinds.setdefault((round(10 * row.entropy), row.family, row.share), []).append(row)
    moved: dict[str, float] = {}
    for (tenths, _, _), same in kinds.items():
        for values in ([row.positional.value for row in same], [row.symbolic.value for row in same]):
            entropy = f"{tenths / 10:g}"
            moved[entropy] = max(moved.get(entropy, 0.0), max(values) - min(values))
    why = f"From tau {TAUS[0]:g} to {TAUS[-1]:g}; entropies are shares of the maximum."
    return Finding(max(moved.values()), why, None, len(kinds), elsewhere={"entropy": moved})


def permutations_differ(evidence: Evidence) -> Finding:
    """The largest difference between a score by swaps and by all permutations, at the length of the paper."""
    rows = evidence.rows("validity", None, "permutations", PermutationScore)
    rows = [row for row in rows if row.tokens == LENGTH]
    if not rows:
        raise NotTested(f"permutations of {LENGTH} tokens were not drawn.")
    worst = {tau: max((r for r in rows if r.tau == tau), key=lambda r: abs(r.difference.value)) for tau in TAUS}
    one = worst[TAU]
    why = (
        f"Content {one.share:g}, entropy {one.entropy:g}: {one.score} {one.swaps:.3f} by swaps, {one.permutations:.3f} "
        f"by all permutations (standard error {one.error:.3f})."
    )
    others = {f"{tau:g}": abs(row.difference.value) for tau, row in worst.items() if tau != TAU}
    ends = sorted(abs(end) for end in one.difference.interval)
    return Finding(abs(one.difference.value), why, (ends[0], ends[1]), one.difference.n, elsewhere={"tau": others})


def labelled_pure(evidence: Evidence, family: str) -> Finding:
    """The largest share of null heads of a family that are labelled pure, over sharpness."""
    rows = [row for row in evidence.rows("validity", None, "labels", NullLabel) if row.family == family]
    if not rows:
        raise NotTested(f"no null heads of {family} were scored.")
    most = max(row.inputs for row in rows)

    def worst(tau: float, gamma: float, inputs: int = most) -> NullLabel:
        some = [row for row in rows if (row.tau, row.gamma, row.inputs) == (tau, gamma, inputs)]
        return max(some, key=_pure)

    one = worst(TAU, GAMMAS[0])
    larger = max((one.positional, one.symbolic), key=lambda share: share.value)
    why = (
        f"Entropy {one.entropy:.2g}, {most} inputs, gamma {one.gamma:g}: {one.positional.value:.2f} positional, "
        f"{one.symbolic.value:.2f} symbolic. On one input: {_pure(worst(TAU, GAMMAS[0], 1)):.2f}."
    )
    elsewhere = {
        "tau": {f"{tau:g}": _pure(worst(tau, GAMMAS[0])) for tau in TAUS if tau != TAU},
        "gamma": {f"{gamma:g}": _pure(worst(TAU, gamma)) for gamma in GAMMAS[1:]},
    }
    return Finding(_pure(one), why, larger.interval, larger.n, elsewhere=elsewhere)


def _pure(row: NullLabel) -> float:
    return row.positional.value + row.symbolic.value


def _scores(evidence: Evidence) -> list[KnownScore]:
    return evidence.rows("validity", None, "scores", KnownScore)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
