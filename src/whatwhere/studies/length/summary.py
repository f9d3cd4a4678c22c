"""The terminal summary of the study ``length``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.length import tables
from whatwhere.studies.length.tables import ACCURACY, AS_TRAINED, MARGIN, MASS, MEASURED, PREDICTED, Accuracy, Break
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, table
from whatwhere.trace.layer import counted

HALF = 0.5


def summary(results: Results) -> Sequence[RenderableType]:
    """Accuracy by length, the lengths at which it breaks, and changes at inference."""
    rows = results.rows("accuracy", Accuracy)
    blocks: list[RenderableType] = [f"Accuracy against length: {escape(results.name)}", _accuracy(rows)]
    blocks += _breaks(results.rows("breaks", Break))
    changed = [row for row in rows if row.hop is None and row.variation != AS_TRAINED]
    return [*blocks, _variations(changed)] if changed else blocks


def outcomes(results: Results) -> Mapping[str, float]:
    """The length at which half of the answers are wrong, and the accuracy at the longest length."""
    means = [r for r in results.rows("accuracy", Accuracy) if r.hop is None and r.variation == AS_TRAINED]
    half = next(r for r in results.rows("breaks", Break) if (r.what, r.hop, r.threshold) == (ACCURACY, None, HALF))
    return {"half_length": half.length.value, "longest_accuracy": max(means, key=lambda r: r.length).accuracy.value}


def _accuracy(rows: Sequence[Accuracy]) -> Table:
    plain = {(row.length, row.hop): row.accuracy for row in rows if row.variation == AS_TRAINED}
    hops = sorted({hop for _, hop in plain if hop is not None})
    made = table("length", *(counted(hop, "hop") for hop in hops), "mean", "95 %", "inputs")
    for length in sorted({length for length, _ in plain}):
        mean = plain[length, None]
        each = (f"{plain[length, hop].value:.3f}" if (length, hop) in plain else "" for hop in hops)
        made.add_row(str(length), *each, f"{mean.value:.3f}", ends(mean, ".3f"), str(mean.n))
    return made


def _breaks(rows: Sequence[Break]) -> list[RenderableType]:
    """One line for accuracy, for whole paths and for each working cell that breaks."""
    whole = {(r.what, r.source, r.cell, r.threshold): r for r in rows if r.hop is None}
    made = table(
        "", "0.9", "0.5", "95 %", "predicted", "margin", "pred.", left=("",),
        title="\nLength at which the share of right inputs falls below 0.9 and 0.5",
    )  # fmt: skip
    unbroken = 0
    for what, source, cell, threshold in whole:
        if source != MEASURED or threshold != HALF or what not in (ACCURACY, f"chain {MASS}", MASS):
            continue
        row, first = whole[what, source, cell, HALF], whole[what, source, cell, 0.9]
        if row.layer is not None and math.isnan(row.length.value):
            unbroken += 1
            continue
        margin = what.replace(MASS, MARGIN)
        others = [(what, PREDICTED), (margin, MEASURED), (margin, PREDICTED)] if what != ACCURACY else []
        beside = (whole.get((*other, cell, HALF)) for other in others)
        cells = ("" if other is None else _length(other) for other in beside)
        made.add_row(_name(row), _length(first), _length(row), _interval(row), *cells)
    note = (
        "A hop holds if more than half of the attention is on its right key; margin: if that key leads. All hops: "
        f"those that heads do at the training length (mean attention {tables.WORKING} or more). predicted: below one "
        "half, from inputs of the training length alone."
    )
    rest = f" {unbroken} more cells hold in half of the inputs at every length." if unbroken else ""
    return [made, remark(note + rest)]


def _name(row: Break) -> str:
    if row.layer is not None:
        return f"layer {row.layer}.{row.head}, {row.to_go} to go, jump {row.jump}"
    return ACCURACY if row.what == ACCURACY else "all hops hold"


def _length(row: Break, length: float | None = None) -> str:
    shown = row.length.value if length is None else length
    return f">{row.longest}" if math.isnan(shown) else f"{shown:.0f}"


def _interval(row: Break) -> str:
    low, high = _length(row, row.length.low), _length(row, row.length.high)
    return low if low == high else f"{low}-{high}"


def _variations(rows: Sequence[Accuracy]) -> Table:
    lengths = sorted({row.length for row in rows})
    made = table("", *map(str, lengths), left=("",), title="\nMean accuracy with a change at inference, by length")
    for name in dict.fromkeys(row.variation for row in rows):
        here = {row.length: row.accuracy for row in rows if row.variation == name}
        shares = (here.get(n) for n in lengths)  # with half the width of the interval: short enough for many columns
        made.add_row(name, *(f" {s.value:.2f}±{(s.high - s.low) / 2:.2f}" if s else "" for s in shares))
    return made
