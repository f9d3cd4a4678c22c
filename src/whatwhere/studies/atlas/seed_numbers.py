"""Numbers over seeds for the answers: contrasts, shares of models, the largest effect, rank correlations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whatwhere.heads.estimate import UNDEFINED, Estimate
from whatwhere.studies.atlas.factors import BASE, condition_text
from whatwhere.studies.atlas.item_verdicts import LETTER, NUMBER
from whatwhere.studies.atlas.seed_effects import Values, paired
from whatwhere.studies.atlas.tables import OUTCOMES, Effect, Item, ItemVerdict
from whatwhere.studies.dynamics.association import rank_correlation
from whatwhere.studies.seed_means import estimate_text, excludes_zero, over_seeds

FEWEST = 4
"""Conditions for a rank correlation over them."""


@dataclass(frozen=True, eq=False)
class Answered:
    """The data of the answers."""

    items: Sequence[Item]
    values: Values
    verdicts: Sequence[ItemVerdict]
    effects: Sequence[Effect]

    def contrast(self, task: str, outcome: str, condition: str, reference: str = BASE) -> tuple[Estimate, str]:
        """Condition less reference, paired by seed, and both means in words."""
        by_seed = paired(self.values, task, outcome, condition, reference)
        found = over_seeds(by_seed.values())
        if not found.n:
            return UNDEFINED, f"needs {task} items of {reference!r} and of {condition!r} that learned, with equal seeds"
        means = [mean([self.values[task, one, outcome][seed] for seed in by_seed]) for one in (condition, reference)]
        detail = f"{OUTCOMES[outcome]}: {means[0]:.3g} with {condition}, {means[1]:.3g} with {reference}"
        return found, detail

    def share(self, task: str, outcome: str, test: Callable[[float], bool], layers: Sequence[int] = ()) -> Estimate:
        """Of the items of a task that learned, the share whose outcome passes a test; the mean over seeds.

        An undefined outcome does not pass: a model that does not break has no length at which it does.
        """
        held: dict[int, list[float]] = {}
        for seed, passes in self._tested(task, outcome, test, layers):
            held.setdefault(seed, []).append(float(passes))
        return over_seeds((mean(each) for each in held.values()), 0.0, 1.0)

    def passing(self, task: str, outcome: str, test: Callable[[float], bool], layers: Sequence[int] = ()) -> list[bool]:
        """The same, of each item."""
        return [passes for _, passes in self._tested(task, outcome, test, layers)]

    def _tested(
        self, task: str, outcome: str, test: Callable[[float], bool], layers: Sequence[int]
    ) -> list[tuple[int, bool]]:
        found = []
        for item in self.items:
            by_seed = self.values.get((task, item.condition, outcome), {})
            chosen = item.task == task and item.learned and (not layers or item.layers in layers)
            if chosen and item.seed in by_seed:
                found.append((item.seed, test(by_seed[item.seed])))
        return found

    def largest(self, task: str, outcome: str) -> str:
        """The largest effect, in words; it says that the effect was chosen afterwards."""
        rows = [
            row
            for row in self.effects
            if (row.task, row.outcome) == (task, outcome) and " x " not in row.factor and row.difference.n > 1
        ]
        if not rows:
            return "No effect has two seeds yet."
        most = max(rows, key=lambda row: abs(row.difference.value))
        where = condition_text({most.factor: most.level}) + (f" at {most.at}" if most.at != BASE else "")
        sure = sum(excludes_zero(row.difference) for row in rows)
        return (
            f"Of {len(rows)} effects the largest is that of {where}, {estimate_text(most.difference)}, chosen "
            f"afterwards; intervals without 0: {sure}."
        )

    def correlation(self, first: str, second: str) -> Estimate:
        """The rank correlation of two outcomes over the conditions of a task: mean of both tasks, for each seed."""
        by_seed: dict[int, list[float]] = {}
        for seed in sorted({item.seed for item in self.items}):
            for task in (LETTER, NUMBER):
                pairs = [
                    (self.values.get((task, item.condition, first), {}).get(seed, math.nan),
                     self.values.get((task, item.condition, second), {}).get(seed, math.nan))
                    for item in self.items
                    if (item.task, item.seed, item.learned) == (task, seed, True)
                ]  # fmt: skip
                known = np.array([pair for pair in pairs if not any(map(math.isnan, pair))])
                if len(known) >= FEWEST:
                    by_seed.setdefault(seed, []).append(rank_correlation(known[:, 0], known[:, 1]))
        return over_seeds((mean(each) for each in by_seed.values()), -1.0, 1.0)

    def correlation_of_means(self, task: str, first: str, second: str) -> tuple[float, list[float]]:
        """The rank correlation of two outcomes over the conditions of a task: of means over seeds, and of each seed."""
        conditions = dict.fromkeys(item.condition for item in self.items if item.task == task)
        pairs = [tuple(self.values.get((task, one, name), {}) for name in (first, second)) for one in conditions]
        seeds = sorted({seed for pair in pairs for seed in pair[0]})

        def over(chosen: Sequence[int]) -> float:
            means = np.array([[mean(part[s] for s in chosen if s in part) for part in pair] for pair in pairs])
            means = means.round(9)  # sums in another order must not break ties
            known = means[~np.isnan(means).any(1)] if len(means) else means
            return rank_correlation(known[:, 0], known[:, 1]) if len(known) >= FEWEST else math.nan

        return over(seeds), [over([seed]) for seed in seeds]


def mean(values: Iterable[float]) -> float:
    """Of the numbers that are defined; NaN if none is."""
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else math.nan
