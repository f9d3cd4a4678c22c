"""What was expected of each size before the first run, judged over the seeds of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from whatwhere.studies.atlas.factors import BASE
from whatwhere.studies.atlas.seed_effects import paired
from whatwhere.studies.atlas.tables import Outcome
from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.seed_means import estimate_text, over_seeds
from whatwhere.studies.vocabularies.doubling_costs import Doublings
from whatwhere.studies.vocabularies.tables import FACTORS, SizedRun

STUDY = "vocabularies"


def cost(evidence: Evidence, task: str, outcome: str, factor: str) -> Finding:
    """What doubling a factor adds to an outcome, at the base."""
    found = _doublings(evidence).slopes(task, outcome, factor)
    return _finding(found, f"{outcome} of the {task} task per doubling of {FACTORS[factor]}")


def cost_less(evidence: Evidence, task: str, outcome: str, factor: str, than: str, at: str = BASE) -> Finding:
    """The same with the other sizes as in a condition, less that of another factor at the base, paired by seed."""
    known = _doublings(evidence)
    first, second = known.slopes(task, outcome, factor, at), known.slopes(task, outcome, than)
    found = {seed: first[seed] - second[seed] for seed in first if seed in second}
    where = "" if at == BASE else f" with {at}"
    return _finding(found, f"{outcome} of the {task} task per doubling: {FACTORS[factor]}{where} less {FACTORS[than]}")


def change(evidence: Evidence, task: str, outcome: str, condition: str) -> Finding:
    """A condition less the base, paired by seed."""
    found = paired(_doublings(evidence).values, task, outcome, condition, BASE)
    return _finding(found, f"{outcome} of the {task} task: {condition} less base")


def _doublings(evidence: Evidence) -> Doublings:
    rows = evidence.rows(STUDY, None, "runs", SizedRun), evidence.rows(STUDY, None, "outcomes", Outcome)
    return Doublings(*rows)


def _finding(by_seed: Mapping[int, float], what: str) -> Finding:
    found = over_seeds(by_seed.values())
    if not found.n:
        raise NotTested(f"{what}: needs runs that learned at the base and at another size, with equal seeds.")
    return Finding(found.value, f"{what}: {estimate_text(found)}.", found.interval if found.n > 1 else None)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
