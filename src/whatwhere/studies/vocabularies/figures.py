"""The figure of the study ``vocabularies``: what doubling each size costs."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from whatwhere.studies.atlas.factors import BASE
from whatwhere.studies.atlas.figures import draw_differences
from whatwhere.studies.results import Results
from whatwhere.studies.vocabularies.tables import FACTORS, PURE, STEPS, Cost, SizedRun, reach


def draw_costs(results: Mapping[str, Results]) -> Figure:
    """Steps, purity and reach: a panel each, a line for each size, a mark for each task."""
    (one,) = results.values()
    runs, first = one.rows("runs", SizedRun), one.settings.multiples[0]
    panels = {
        STEPS: "steps until learned (doublings)",
        PURE: "share of pure heads",
        reach(first): f"accuracy at {first} times the training length",
    }
    rows = [row for row in one.rows("costs", Cost) if row.outcome in panels]
    bars = [(row.outcome, (_label(row), row.task, row.per_doubling)) for row in rows]
    learned = sum(run.learned for run in runs)
    return draw_differences(
        {title: [bar for outcome, bar in bars if outcome == drawn] for drawn, title in panels.items()},
        list(dict.fromkeys(label for _, (label, _, _) in bars)),
        dict.fromkeys(run.task for run in runs),
        f"What doubling a size adds, paired by seed. Bars: 95 % over seeds. {learned} of {len(runs)} runs learn.",
        lines=1,
        size=(12.5, 0.38),
    )


def _label(row: Cost) -> str:
    return FACTORS[row.factor] + ("" if row.at == BASE else f" ({row.at})")
