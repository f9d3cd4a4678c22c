"""What doubling a size costs, so that factors on different scales compare; seeds are the unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whatwhere.studies.atlas.factors import BASE, changes_of, without
from whatwhere.studies.atlas.seed_effects import BySeed, effects, values_of
from whatwhere.studies.atlas.tables import Effect, Outcome
from whatwhere.studies.seed_means import over_seeds
from whatwhere.studies.vocabularies.tables import DEFINED_UNLEARNED, FACTORS, INTERACTIONS, STEPS, Cost, SizedRun


class Doublings:
    """The outcomes of a sweep, by size."""

    def __init__(self, runs: Sequence[SizedRun], outcomes: Sequence[Outcome]) -> None:
        self.values = values_of(runs, outcomes, DEFINED_UNLEARNED)
        self.base = {
            (run.task, factor): getattr(run, factor)
            for run in runs
            for factor in FACTORS
            if factor not in changes_of(run.condition)
        }

    def by_size(self, task: str, outcome: str, factor: str, at: str = BASE) -> dict[int, BySeed]:
        """The values at each size of a factor, that of the base first, with the other sizes as in a condition.

        The logarithm (base 2) of ``steps`` is taken, so that differences are doublings.
        """
        found: dict[int, BySeed] = {}
        for (where, condition, measured), by_seed in self.values.items():
            changes = changes_of(condition)
            level = changes.pop(factor, None)
            if (where, measured, changes) == (task, outcome, changes_of(at)):
                size = self.base[task, factor] if level is None else int(level)
                found[size] = {s: math.log2(v) if outcome == STEPS else v for s, v in by_seed.items()}
        return dict(sorted(found.items(), key=lambda one: (one[0] != self.base.get((task, factor)), one[0])))

    def slopes(self, task: str, outcome: str, factor: str, at: str = BASE) -> dict[int, float]:
        """For each seed, what doubling a factor adds to an outcome: least squares through the value at the base.

        Seeds without that value, or without another size, are left out. So are steps where the run at the base did not
        learn: they are a lower bound, from which no cost can be counted.
        """
        sizes = self.by_size(task, outcome, factor, at)
        base = self.base.get((task, factor))
        found = {}
        for seed, reference in sizes.get(base or 0, {}).items():
            if outcome == STEPS and not self.learned(task, at, seed):
                continue
            points = [
                (math.log2(size / (base or 1)), by_seed[seed] - reference)
                for size, by_seed in sizes.items()
                if size != base and not math.isnan(by_seed.get(seed, math.nan) - reference)
            ]
            if points:
                found[seed] = sum(x * y for x, y in points) / sum(x * x for x, _ in points)
        return found

    def learned(self, task: str, condition: str, seed: int | None = None) -> bool:
        """Whether the run of a condition and a seed learned its task; without a seed, whether any did."""
        by_seed = self.values.get((task, condition, "learned"), {})
        return any(value for one, value in by_seed.items() if seed in (None, one))

    def effects(self) -> list[Effect]:
        """What each size does, as in the atlas; steps are not compared with runs that did not learn."""
        rows = effects(self.values, INTERACTIONS)
        return [row for row in rows if row.outcome != STEPS or self.learned(row.task, _reference(row))]

    def costs(self) -> list[Cost]:
        """Every factor of every task, with the other sizes as in the base and in each other condition.

        What no seed tells is left out.
        """
        rows = []
        for task, at, outcome in self.values:
            for factor in FACTORS:
                sizes = self.by_size(task, outcome, factor, at)
                found = over_seeds(self.slopes(task, outcome, factor, at).values())
                if factor not in changes_of(at) and found.n:
                    rows.append(Cost(task, outcome, factor, at, " ".join(map(str, sizes)), found))
        return rows


def _reference(row: Effect) -> str:
    """The condition without what is varied: of an interaction, the first factor alone."""
    *first, last = row.factor.split(" x ")
    return without(row.level, last) if first else row.at
