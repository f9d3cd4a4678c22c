"""The terminal summary of the study ``vocabularies``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.atlas.factors import BASE
from whatwhere.studies.atlas.summary import missing_note
from whatwhere.studies.atlas.tables import Missing
from whatwhere.studies.results import Results
from whatwhere.studies.seed_means import over_seeds
from whatwhere.studies.terminal import remark, table
from whatwhere.studies.vocabularies.tables import FACTORS, OUTCOMES, POSITIONAL, PURE, STEPS, Cost, SizedRun, reach


def summary(results: Results) -> Sequence[RenderableType]:
    """The runs by condition, and what doubling each size costs."""
    runs, costs = results.rows("runs", SizedRun), results.rows("costs", Cost)
    seeds = ", ".join(map(str, sorted({run.seed for run in runs})))
    learned = sum(run.learned for run in runs)
    text = f"{len(runs)} runs, seeds {seeds}; {learned} of them learn their task (every hop class at 0.9 or more)."
    blocks: list[RenderableType] = [f"Sizes, {escape(results.name)}: {text}"]
    tasks = dict.fromkeys(run.task for run in runs)
    blocks += [_runs(task, [run for run in runs if run.task == task]) for task in tasks]
    blocks.append(remark(_RUNS))
    blocks += missing_note(results.rows("missing", Missing), "runs")
    shown = {STEPS: "steps", PURE: "pure", POSITIONAL: "where"}
    shown |= {reach(times): f"x{times}" for times in results.settings.multiples}
    blocks += [_costs(task, [row for row in costs if row.task == task], shown) for task in tasks]
    return [*blocks, remark(_COSTS)]


_RUNS = (
    "Means over seeds. A condition is what differs from the sizes that are most frequent here. names: different "
    "tokens; steps: until every hop class is right on 0.9, all of the run if one never is; pure: share of heads; "
    "breaks: tokens at which fewer than half of the answers are right (>: not within the lengths measured)."
)
_COSTS = (
    "What doubling a size adds, all else equal, with half of its 95 % interval (t) over seeds. Steps are in doublings: "
    "1 means that twice the size takes twice the steps; a lower bound where runs did not learn. pure: share of heads; "
    "where: purely positional heads; x4: "
    "accuracy at four times the training length."
)


def page_data(results: Results) -> Mapping[str, Any]:
    """Factors and outcomes in words."""
    multiples = {reach(times): f"accuracy at {times} times the training length" for times in results.settings.multiples}
    return {"factors": FACTORS, "outcomes": OUTCOMES | multiples}


def _runs(task: str, runs: Sequence[SizedRun]) -> Table:
    numbers = ("steps", "accuracy", PURE, "break_length")
    columns = ("tokens", "names", "learn", "steps", "right", "pure", "breaks")
    made = table("condition", *columns, left=("condition",), title=f"\n{task.capitalize()} task")
    for condition in dict.fromkeys(run.condition for run in runs):
        mine = [run for run in runs if run.condition == condition]
        steps, right, pure, breaks = (over_seeds(getattr(run, name) for run in mine) for name in numbers)
        made.add_row(
            escape(condition), str(mine[0].tokens), str(mine[0].names),
            f"{sum(run.learned for run in mine)} of {len(mine)}", f"{steps.value:.0f}", f"{right.value:.2f}",
            f"{pure.value:.2f}", f"{breaks.value:.0f}" if breaks.n else ">",
        )  # fmt: skip
    return made


def _costs(task: str, costs: Sequence[Cost], shown: Mapping[str, str]) -> Table:
    made = table("doubling of", *shown.values(), left=("doubling of",), title=f"\n{task.capitalize()} task: costs")
    found = {(row.factor, row.at, row.outcome): row.per_doubling for row in costs if row.outcome in shown}
    for factor, at in dict.fromkeys((factor, at) for factor, at, _ in found):
        cells = (found.get((factor, at, outcome)) for outcome in shown)
        made.add_row(factor + f" ({escape(at)})" * (at != BASE), *(f" {_cell(cell)}" for cell in cells))
    return made


def _cell(found: Estimate | None) -> str:
    if found is None:
        return ""
    half = (found.high - found.low) / 2
    return f"{found.value:+.2f}" + ("" if math.isnan(half) else f"±{half:.2f}")
