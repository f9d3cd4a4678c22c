"""Effects of factors on outcomes, with seeds as the unit: differences paired by seed, and t intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from whatwhere.studies.atlas.factors import AUTHORS, BASE, OTHER_RECIPE, changes_of, condition_text, without
from whatwhere.studies.atlas.tables import BEFORE_LEARNING, BY_RECIPE, INTERACTIONS, Effect, Item, Outcome, RecipePair
from whatwhere.studies.seed_means import over_seeds
from whatwhere.studies.vocabularies.tables import SizedRun

BySeed = Mapping[int, float]
Values = Mapping[tuple[str, str, str], BySeed]
"""By task, condition and outcome: the value with each seed."""


def values_of(
    items: Sequence[Item | SizedRun], outcomes: Sequence[Outcome], unlearned: Sequence[str] = BEFORE_LEARNING
) -> Values:
    """The outcomes by condition and seed; for items that did not learn, only those that are defined then."""
    known = {item.item: item for item in items}
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in outcomes:
        item = known[row.item]
        if item.learned or row.outcome in unlearned:
            found.setdefault((item.task, item.condition, row.outcome), {})[item.seed] = row.value
    return found


def paired(values: Values, task: str, outcome: str, condition: str, reference: str) -> dict[int, float]:
    """Condition less reference, for each seed that has both."""
    of, against = (values.get((task, one, outcome), {}) for one in (condition, reference))
    return {seed: of[seed] - against[seed] for seed in sorted(of) if seed in against}


def effects(values: Values, interactions: Sequence[tuple[str, str, str]] = INTERACTIONS) -> list[Effect]:
    """Every change of one factor with all else equal, for every outcome; then the interactions named in advance."""
    rows = []
    for task, condition, outcome in values:
        for factor, level in changes_of(condition).items():
            reference = without(condition, factor)
            if (task, reference, outcome) in values:
                differences = paired(values, task, outcome, condition, reference)
                rows.append(_effect(values, (task, outcome, factor, level, reference), differences))
    return rows + [row for one in interactions for row in _interactions(values, *one)]


def recipes(values: Values) -> list[RecipePair]:
    """Outcomes of the preset and of the authors' recipe, to compare how both order tasks and data."""
    rows = []
    for (task, condition, outcome), by_seed in values.items():
        preset, authors = without(condition, OTHER_RECIPE), changes_of(condition).get(OTHER_RECIPE) == AUTHORS
        if outcome in BY_RECIPE and authors and (task, preset, outcome) in values:
            both = (over_seeds(one.values(), *BY_RECIPE[outcome]) for one in (values[task, preset, outcome], by_seed))
            rows.append(RecipePair(task, preset, outcome, *both))
    return sorted(rows, key=lambda row: list(BY_RECIPE).index(row.outcome))


def _interactions(values: Values, first: str, second: str, outcome: str) -> list[Effect]:
    """How much more the second factor does under the first, for each pair of levels."""
    rows = []
    for task, condition, measured in values:
        changes = changes_of(condition)
        if measured != outcome or set(changes) != {first, second}:
            continue
        alone = condition_text({second: changes[second]})
        there = paired(values, task, outcome, condition, without(condition, second))
        here = paired(values, task, outcome, alone, BASE)
        both = {seed: there[seed] - here[seed] for seed in there if seed in here}
        rows.append(_effect(values, (task, outcome, f"{first} x {second}", condition, BASE), both))
    return rows


def _effect(values: Values, about: tuple[str, str, str, str, str], differences: BySeed) -> Effect:
    task, outcome, _, _, reference = about
    defined = [seed for seed, value in differences.items() if not math.isnan(value)]
    against = [values[task, reference, outcome][seed] for seed in defined]
    return Effect(*about, float(np.mean(against)) if against else math.nan, over_seeds(differences.values()))
