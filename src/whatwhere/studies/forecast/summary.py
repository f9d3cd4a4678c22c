"""The terminal summary of the study ``forecast``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.forecast.calibration import ALL, HELD_OUT, TUNED_ON
from whatwhere.studies.forecast.tables import (
    CARRIED,
    CHAIN,
    DISPERSION,
    SOLVES,
    THRESHOLDS,
    Calibration,
    MeasuredBreak,
    PredictedBreak,
    Variant,
)
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, short_names, table

HALF = 0.5
NOTE = (
    "pred.: from inputs of the training length alone, before a longer one was run (carried: contents change with "
    "further keys; chain: they stay; softmax, dispersion: the mean margin in closed form). error: mean |log2 "
    "predicted - log2 measured| over variants that break; order: pairs of which one surely breaks first, in the "
    "right order."
)


def summary(results: Results) -> Sequence[RenderableType]:
    """Forecast and break of each variant, then the quality of each method."""
    variants = results.rows("variants", Variant)
    blocks: list[RenderableType] = [f"Forecast and measured breaks: {escape(results.name)}"]
    blocks += ["Length in tokens at which accuracy falls below 0.9 and below one half", _breaks(results)]
    if left_out := [f"{row.variation} ({row.accuracy.value:.2f})" for row in variants if not row.counts]:
        blocks.append(remark(f"Left out, below {SOLVES} at the training length: {', '.join(left_out)}."))
    rows = results.rows("calibration", Calibration)
    names = [name for name in (HELD_OUT, TUNED_ON, ALL) if any(row.group == name for row in rows)]
    shown = names[:1] if len(names) == 2 else names  # all are then just the others
    for name in shown:
        blocks += _calibration(name, [row for row in rows if row.group == name])
    return [*blocks, remark(NOTE)]


def outcomes(results: Results) -> Mapping[str, float]:
    """Where the first variant should break below one half, and where it does; undefined if none solves its task."""
    forecasts, breaks = results.rows("forecasts", PredictedBreak), results.rows("breaks", MeasuredBreak)
    predicted = next((r.length for r in forecasts if (r.method, r.threshold) == (CARRIED, HALF)), math.nan)
    found = next((row.length.value for row in breaks if row.threshold == HALF), math.nan)
    return {"predicted_half_length": predicted, "half_length": found}


def _breaks(results: Results) -> Table:
    breaks = results.rows("breaks", MeasuredBreak)
    predicted = {(r.model, r.variation, r.method, r.threshold): r for r in results.rows("forecasts", PredictedBreak)}
    made = table("", "<0.9", "pred.", "<0.5", "95 %", "pred.", "chain", "softmax", left=("",))
    names, heading = short_names(row.model for row in breaks), ""
    for row in breaks:
        if row.threshold != HALF:
            continue
        name = row.model, row.variation
        if names[row.model] != heading and len(names) > 1:
            heading = names[row.model]
            made.add_row(escape(heading))
        first = next(r for r in breaks if (r.model, r.variation) == name and r.threshold == max(THRESHOLDS))
        both = "-".join(_length(end, row.longest) for end in row.length.interval)
        made.add_row(
            f"{' ' * (len(names) > 1)}{escape(row.variation)}", _length(first.length.value, row.longest),
            _shown(predicted[*name, CARRIED, max(THRESHOLDS)], row.longest),
            _length(row.length.value, row.longest), both,
            *(_shown(predicted[*name, method, HALF], row.longest) for method in (CARRIED, CHAIN, DISPERSION)),
        )  # fmt: skip
    return made


def _length(length: float, longest: int) -> str:
    return f">{longest}" if math.isnan(length) else f"{length:.0f}"


def _shown(row: PredictedBreak, longest: int) -> str:
    return f">{longest}" if row.beyond else "-" if math.isnan(row.length) else f"{row.length:.0f}"


def _calibration(group: str, rows: Sequence[Calibration]) -> list[RenderableType]:
    counts = "; ".join(
        f"below {row.threshold:g}: {row.broken} break, {row.censored} do not" for row in rows if row.method == CARRIED
    )
    made = table("", "below", "error", "95 %", "bias", "order", "95 %", left=("",))
    for row in rows:
        made.add_row(
            row.method, f"{row.threshold:g}", *_estimate(row.error),
            "-" if math.isnan(row.bias.value) else f"{row.bias.value:+.2f}", *_estimate(row.concordance),
        )  # fmt: skip
    return [f"\nVariants {group} ({counts})", made]


def _estimate(found: Estimate) -> tuple[str, str]:
    return ("-", "-") if math.isnan(found.value) else (f"{found.value:.3f}", ends(found, ".3f"))
