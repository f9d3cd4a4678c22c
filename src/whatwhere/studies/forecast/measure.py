"""Forecasts first, then longer inputs, for a population of models (Sections 3.5 and 3.6).

The order is part of the method. Every variant is forecast from inputs of the training length. Then the table of
forecasts is sealed: its checksum is written to another table. No longer input runs before that, and a table of
forecasts with another checksum is an error. Tables are written after each step; an interrupted study continues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.model.checkpoint import model_fingerprint
from whatwhere.model.gptj import GPTJ
from whatwhere.store.tables import write_csv
from whatwhere.studies.answering import answers, shares_by_hop
from whatwhere.studies.forecast.bracketing import bracketed, length_grid
from whatwhere.studies.forecast.calibration import TUNED_WEIGHTS, calibration_rows, points
from whatwhere.studies.forecast.forecasting import forecast
from whatwhere.studies.forecast.tables import (
    SOLVES,
    THRESHOLDS,
    ForecastSettings,
    LengthAccuracy,
    MeasuredBreak,
    PredictedBreak,
    Seal,
    Variant,
)
from whatwhere.studies.forecast.variants import interventions_of
from whatwhere.studies.length.breaks import break_length
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.task import Task
from whatwhere.trace.interventions import Intervention


@dataclass(frozen=True, eq=False)
class Member:
    """A model with a change."""

    name: tuple[str, str]
    """Of the model and of the variation."""
    model: GPTJ
    task: Task
    changes: Sequence[Intervention]


def measure(model: GPTJ, settings: ForecastSettings, results: Results, progress: Progress) -> None:
    """Measures what the results do not have yet; ``settings.more`` may add other models.

    Progress counts three steps of each variant: it is checked, forecast and measured.
    """
    members = _population(results.name, model, settings)
    total, done = 3 * len(members), 0
    variants = results.rows("variants", Variant)
    for member in members[len(variants) :]:
        progress(f"checking {' '.join(member.name)}", done + len(variants), total)
        variants.append(_variant(member, settings))
        results.write("variants", variants)
    solved = [member for member, row in zip(members, variants, strict=True) if row.counts]
    forecasts = results.rows("forecasts", PredictedBreak)
    known = {(row.model, row.variation) for row in forecasts}
    results.write("forecasts", forecasts)
    for number, member in enumerate(solved):
        progress(f"forecasting {' '.join(member.name)}", len(members) + number, total)
        if member.name not in known:
            batch = member.task.sample(settings.forecast_inputs, seed=settings.seed + 1)
            found = forecast(member.name, member.model, batch, settings.longest, member.changes, settings.seed)
            results.append("forecasts", found)
    _seal(results)
    for number, member in enumerate(solved):
        progress(f"measuring {' '.join(member.name)}", 2 * len(members) + number, total)
        _measure(member, settings, results)
    results.write("breaks", _breaks(solved, results))
    results.write("calibration", calibration_rows(points(results.rows), settings.seed))
    progress("forecasts judged", total, total)


def _population(name: str, model: GPTJ, settings: ForecastSettings) -> list[Member]:
    """Every model with every variation."""
    models = [(name, model), *((one.name, one.item) for one in settings.opened)]
    prints = [model_fingerprint(each) for _, each in models]
    for index, (label, _) in enumerate(models):
        if prints[index] in prints[:index] or label in dict(models[:index]):
            raise WhatwhereError(f"expected different models, got {label} twice; leave it out of more.")
    members = []
    for label, each in models:
        assert each.task is not None, "the subject is a model with a task"
        planes = len(each.rotation.frequencies)
        members += [
            Member((label, variation), each, each.task, interventions_of(variation, planes))
            for variation in settings.variations
        ]
        if settings.longest <= each.task.length:
            raise WhatwhereError(
                f"expected a longest length beyond the {each.task.length} tokens of training, got {settings.longest}; "
                "raise longest."
            )
    return members


def _variant(member: Member, settings: ForecastSettings) -> Variant:
    accuracy, weights = _accuracy(member, member.task.length, settings), model_fingerprint(member.model)
    return Variant(
        member.name[0], weights, member.task.name, member.name[1], weights in TUNED_WEIGHTS, member.task.length,
        accuracy, accuracy.value >= SOLVES,
    )  # fmt: skip


def _accuracy(member: Member, length: int, settings: ForecastSettings) -> Estimate:
    """The mean over hop classes, on inputs of a length."""
    extra = length - member.task.length
    batch = member.task.sample(settings.sequences(length), seed=settings.seed, extra_target=extra)
    right = answers(member.model, batch.tokens, member.changes) == batch.answers
    return shares_by_hop(right, batch.hops)[-1][1]


def _seal(results: Results) -> None:
    """Seals the table of forecasts, or checks that it is the sealed one.

    Raises:
        WhatwhereError: it was changed since.
    """
    table = results.frame("forecasts")
    seal = Seal(len(table), hashlib.sha256(write_csv(table)).hexdigest())
    if not results.has("seal"):
        results.write("seal", [seal])
    elif results.rows("seal", Seal) != [seal]:
        raise WhatwhereError(
            f"{results.name}: expected the forecasts that were sealed before longer inputs were run, got others; "
            "begin again with --force or another --out."
        )


def _measure(member: Member, settings: ForecastSettings, results: Results) -> None:
    """Adds the accuracy at the lengths that bracket the breaks."""
    rows = results.rows("accuracy", LengthAccuracy)
    known = {row.length: row.accuracy for row in rows if (row.model, row.variation) == member.name}

    def curve(length: int) -> Estimate:
        if length not in known:
            known[length] = _accuracy(member, length, settings)
            results.append("accuracy", [LengthAccuracy(*member.name, length, known[length])])
        return known[length]

    bracketed(curve, length_grid(member.task.length, settings.longest), THRESHOLDS)


def _breaks(members: Sequence[Member], results: Results) -> list[MeasuredBreak]:
    rows, made = results.rows("accuracy", LengthAccuracy), []
    for member in members:
        here = sorted((r.length, r.accuracy) for r in rows if (r.model, r.variation) == member.name)
        for threshold in THRESHOLDS:
            value, low, high = (
                break_length([(length, getattr(share, end)) for length, share in here], threshold)
                for end in ("value", "low", "high")
            )
            n = min(share.n for length, share in here if length <= (value if value == value else length))
            made.append(MeasuredBreak(*member.name, threshold, Estimate(value, low, high, n), results.settings.longest))
    return made
