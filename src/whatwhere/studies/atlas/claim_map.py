"""The map: every claim under every condition, with seeds as the sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from whatwhere.studies import study_named
from whatwhere.studies.atlas.predictions import read_predictions
from whatwhere.studies.atlas.sweep_items import MEASURED
from whatwhere.studies.atlas.tables import NUMBERED, OUTCOMES, Cell, Item, ItemVerdict
from whatwhere.studies.claim import Claim
from whatwhere.studies.results import Results

FEWEST_CONDITIONS = 3
"""The fewest conditions for a statement that a claim holds nearly always, or rarely."""
HOLDS, FAILS, DEPENDS = "holds", "fails", "depends"


def judged_claims() -> list[Claim]:
    """The claims that an item can decide: statements about trained models, of the studies that the atlas reads."""
    return [
        claim
        for name in MEASURED
        for claim in study_named(name).all_claims()
        if claim.kind in ("trained", "reading") and not claim.ill_posed
    ]


def claim_map(items: Sequence[Item], verdicts: Sequence[ItemVerdict], claims: Sequence[Claim]) -> list[Cell]:
    """A row for each claim and condition on which it could be judged, of items that learned their task.

    A claim about both tasks needs a pair of which both learned.
    """
    of = {item.item: item for item in items}
    tested = [row for row in verdicts if row.met is not None and all(of[name].learned for name in _about(row))]
    rows = []
    for claim in claims:
        mine = [row for row in tested if row.claim == claim.id]
        pairs = any(row.partner is not None for row in mine)
        for condition in dict.fromkeys(item.condition for item in items):
            held = [bool(row.met) for row in mine if of[row.item].condition == condition]
            if held:
                share = sum(held) / len(held)
                verdict = HOLDS if share == 1 else FAILS if share == 0 else DEPENDS
                about = "both" if pairs else of[mine[0].item].task
                rows.append(Cell(claim.id, claim.kind, about, condition, verdict, share, len(held)))
    return rows


def _about(row: ItemVerdict) -> list[str]:
    """The item that a verdict is about, or the two of a pair."""
    return [row.item] if row.partner is None else [row.item, row.partner]


def widely_tested(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of claims that were judged under three conditions or more."""
    count = Counter(cell.claim for cell in cells)
    return [cell for cell in cells if count[cell.claim] >= FEWEST_CONDITIONS]


def share_of_conditions(cells: Sequence[Cell]) -> dict[str, float]:
    """Of each claim, the mean over conditions of the share of seeds with which it holds."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        found.setdefault(cell.claim, []).append(cell.share)
    return {claim: sum(shares) / len(shares) for claim, shares in found.items()}


def page_data(results: Results) -> Mapping[str, Any]:
    """The texts of claims, outcomes and questions, for the page."""
    del results
    return {
        "claims": {claim.id: {"title": claim.title, "threshold": claim.threshold} for claim in judged_claims()},
        "outcomes": OUTCOMES | NUMBERED,
        "questions": {name: one.question for name, one in read_predictions().items()},
    }
