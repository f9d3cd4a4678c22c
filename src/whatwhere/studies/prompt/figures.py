"""The figure of the study ``prompt``: margins and found keys by length, and where failure was predicted."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.studies.prompt.tables import ATTENTION, MARGIN, Forecast, LengthRow
from whatwhere.studies.results import Results
from whatwhere.studies.style import ENTROPY, NEUTRAL, PALE, SYMBOLIC, error_bars

LOOK = {MARGIN: (NEUTRAL, "--"), ATTENTION: (ENTROPY, ":")}


def draw_forecast(results: Mapping[str, Results]) -> Figure:
    """Left: margin of the answer. Right: share of keys found, and attention to the key. Open marks are checks."""
    (one,) = results.values()
    rows, predicted = one.rows("lengths", LengthRow), one.rows("forecasts", Forecast)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 3.8))
    _points(left, rows, "margin", NEUTRAL, "margin")
    left.axhline(0, color=NEUTRAL, linewidth=0.8)
    _points(right, rows, "right", SYMBOLIC, "keys found")
    _points(right, [row for row in rows if row.short], "attention", ENTROPY, "attention to the key")
    right.set_ylim(-0.03, 1.05)
    lengths = [row.length for row in rows]
    for axes in (left, right):
        for row in predicted:
            colour, line = LOOK[row.rule]
            if not isnan(row.length.value) and row.length.value < 8 * max(lengths):
                axes.axvline(row.length.value, color=colour, linestyle=line, label=f"predicted by {row.rule}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, [f"{length:,}" for length in lengths], rotation=45)
        axes.minorticks_off()
        axes.set_xlabel("tokens of the prompt")
        axes.axvspan(min(lengths), max(row.length for row in rows if row.short), color=PALE, alpha=0.3, linewidth=0)
        axes.legend(fontsize=8, loc="lower left")
    left.set_title("margin of the answer (nats, 95 %)")
    right.set_title("what is found (95 %); forecasts use the grey part")
    figure.suptitle(one.short_name, fontsize=10)
    return figure


def _points(axes: Axes, rows: list[LengthRow], column: str, colour: str, label: str) -> None:
    for short, face in ((True, colour), (False, "white")):
        some = [(row.length, getattr(row, column)) for row in rows if row.short == short]
        if not some:
            continue
        lengths, found = zip(*some, strict=True)
        axes.errorbar(
            lengths, [one.value for one in found], error_bars(found), fmt="o", color=colour, markerfacecolor=face,
            markersize=5, linewidth=1, label=label if short else None,
        )  # fmt: skip
