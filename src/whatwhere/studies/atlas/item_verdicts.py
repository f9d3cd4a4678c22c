"""The claims of all studies, judged on one item at a time.

A claim about one task is judged on an item of that task alone. A claim about both tasks needs a pair: an item and its
partner, the item of the other task with the same seed and the same settings, except for the data, which are that task's
own. Such a claim is reported once per pair: for the letter item, and for number items with other data than the default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from whatwhere.errors import WhatwhereError
from whatwhere.studies.atlas.factors import DATA, changes_of, without
from whatwhere.studies.atlas.tables import Item, ItemVerdict
from whatwhere.studies.claim import Claim
from whatwhere.studies.evidence import CONTROL, LEAK_FREE, Evidence, NotTested
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress, no_progress

Studies = Mapping[str, Results]
"""The results of an item, by study."""
LETTER, NUMBER = "letter", "number"
_OTHER = {LETTER: NUMBER, NUMBER: LETTER}
NO_PARTNER = "the item of the other task with the same seed and settings is not there."
"""Why a claim about both tasks is not tested on an item that was read alone."""
RESTATED = "it was judged before the claim was restated, and its run is not kept."


def judge_items(
    items: Sequence[Item], results: Mapping[str, Studies], claims: Sequence[Claim], progress: Progress = no_progress
) -> list[ItemVerdict]:
    """The verdicts of every item; claims that do not concern its task are left out."""
    partners = partners_of(items)
    judged: list[tuple[Item, Item | None, ItemVerdict]] = []
    about: dict[str, set[str]] = {claim.id: set() for claim in claims}
    for done, item in enumerate(items):
        progress(f"judging {item.item}", done, len(items))
        partner = partners.get(item.item)
        evidence = _evidence(item, partner, results)
        for claim in claims:
            evidence.asked.clear()
            judged.append((item, partner, _judge(item, claim, evidence)))
            about[claim.id] |= {LETTER if model == CONTROL else model for model in evidence.asked if model is not None}
    return [
        replace(verdict, partner=partner.item if partner and len(about[verdict.claim]) > 1 else None)
        for item, partner, verdict in judged
        if item.task in about[verdict.claim] and (len(about[verdict.claim]) == 1 or reports_pairs(item))
    ]


def partners_of(items: Sequence[Item]) -> dict[str, Item]:
    """By item, the item of the other task with the same seed and settings, with the usual data of that task."""
    places = {(item.task, item.seed, item.condition): item for item in items}
    found = {item.item: places.get((_OTHER[item.task], item.seed, without(item.condition, DATA))) for item in items}
    return {name: partner for name, partner in found.items() if partner is not None}


def reports_pairs(item: Item) -> bool:
    """Whether claims about both tasks are reported for it, and not for its partner."""
    return item.task == LETTER or DATA in changes_of(item.condition)


def _evidence(item: Item, partner: Item | None, results: Mapping[str, Studies]) -> Evidence:
    """The evidence of an item: its own results, and its partner's as those of the other task."""
    own: dict[str | None, Item | None] = {item.task: item, _OTHER[item.task]: partner}
    if item.data == LEAK_FREE:
        own[CONTROL] = item

    def find(study: str, model: str | None) -> Results:
        asked = own.get(model)
        if asked is None and model == _OTHER[item.task]:
            raise NotTested(NO_PARTNER, missing=True)
        if asked is None or study not in results[asked.item]:
            raise NotTested(f"there are no results of {study} on {model or 'the theory'}.", missing=True)
        return results[asked.item][study]

    return Evidence(find)


def _judge(item: Item, claim: Claim, evidence: Evidence) -> ItemVerdict:
    """As :func:`whatwhere.studies.judging.judge` does for one seed, without its interval: here seeds are the sample."""
    try:
        found = claim.measure(evidence)
    except (NotTested, WhatwhereError) as reason:
        return ItemVerdict(item.item, None, claim.id, math.nan, None, str(reason), claim.question)
    met, why = found.rest_holds and claim.met(found.value), ""
    if met is None:
        why = "the inputs do not decide it."
    return ItemVerdict(item.item, None, claim.id, found.value, met, why, claim.question)


def as_asked_today(verdicts: Sequence[ItemVerdict], claims: Sequence[Claim]) -> list[ItemVerdict]:
    """Verdicts that ship; those on claims that have been restated since are not tested."""
    asked = {claim.id: claim.question for claim in claims}
    return [
        row if row.question == asked[row.claim] else replace(row, value=math.nan, met=None, why=RESTATED)
        for row in verdicts
        if row.claim in asked
    ]
