"""Figures of forecasts: predicted against measured breaks, and the errors of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.studies.forecast.calibration import ALL, HELD_OUT, TUNED_ON, Point, calibrate, points
from whatwhere.studies.forecast.tables import CARRIED, DISPERSION, METHODS, THRESHOLDS, Calibration
from whatwhere.studies.results import Results
from whatwhere.studies.style import MARK, NEUTRAL, TASK, error_bars

TICKS = (17, 25, 50, 100, 200, 400, 1000)
COLOURS = dict(zip(METHODS, ("#000000", "#0072b2", "#d55e00", "#999999", "#cc79a7"), strict=True))


def draw_calibration(results: Mapping[str, Results]) -> Figure:
    """Predicted against measured length, of one result or of several together; beside it the closed form."""
    found = [point for one in results.values() for point in points(one.rows)]
    shown = [(CARRIED, threshold) for threshold in THRESHOLDS] + [(DISPERSION, THRESHOLDS[-1])]
    figure, panels = pyplot.subplots(1, len(shown), figsize=(4.4 * len(shown), 4.6))
    for axes, (method, threshold) in zip(panels, shown, strict=True):
        _scatter(axes, [point for point in found if point.threshold == threshold], method, threshold)
    panels[0].set_ylabel("measured (tokens)")
    named = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _scatter(axes: Axes, some: Sequence[Point], method: str, threshold: float) -> None:
    """One method at one threshold; filled marks are held out, arrows have not broken at the longest length."""
    ends = [17.0, 1000.0, *(end for point in some for end in (point.length, point.predicted[method]))]
    low, high = float(np.nanmin(ends)) * 0.9, float(np.nanmax(ends)) * 1.15
    axes.plot([low, high], [low, high], "-", color=NEUTRAL, linewidth=0.8)
    axes.fill_between(
        [low, high], [low / 2**0.5, high / 2**0.5], [low * 2**0.5, high * 2**0.5], color=NEUTRAL, alpha=0.1
    )
    kinds: dict[tuple[str, bool, bool], list[Point]] = {}
    for point in some:
        kinds.setdefault((point.variant.task, point.variant.tuned, point.censored), []).append(point)
    for (task, tuned, censored), chosen in sorted(kinds.items()):
        axes.plot(
            [point.predicted[method] for point in chosen], [point.length for point in chosen],
            "^" if censored else MARK[task], color=TASK[task], markersize=6, alpha=0.85, linestyle="none",
            markerfacecolor="none" if tuned else TASK[task],
            label=f"{task}, {TUNED_ON if tuned else HELD_OUT}{', not broken' if censored else ''}",
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(TICKS, [str(tick) for tick in TICKS])
        axis.set_ticks([], minor=True)
    axes.set_xlabel("predicted from the training length (tokens)")
    row = calibrate(ALL, some, threshold, method)
    axes.set_title(
        f"{method}, below {threshold:g}: log2 error {row.error.value:.2f}, order {row.concordance.value:.2f}"
    )


def draw_errors(results: Mapping[str, Results]) -> Figure:
    """The error and the order of every method, with 95 % intervals."""
    (one,) = results.values()
    rows = one.rows("calibration", Calibration)
    shown = [row for row in rows if row.group == HELD_OUT] or [row for row in rows if row.group == ALL]
    group = shown[0].group if shown else "no variant solves its task"
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axes, what, title in (
        (left, "error", "mean |log2 predicted - log2 measured|"),
        (right, "concordance", "pairs in the right order"),
    ):
        for row in shown:
            found, line = getattr(row, what), METHODS.index(row.method)
            mark, offset = ("s", -0.14) if row.threshold == THRESHOLDS[0] else ("o", 0.14)
            axes.errorbar(
                [found.value], [line + offset], xerr=error_bars([found]), fmt=mark, capsize=3,
                color=COLOURS[row.method], label=f"below {row.threshold:g}" if line == 0 else None,
            )  # fmt: skip
        axes.set_title(f"{title}, {group}")
        axes.set_yticks(range(len(METHODS)), METHODS)
    left.set_ylim(len(METHODS) - 0.5, -0.5)
    left.set_xlim(left=0)
    right.axvline(0.5, color=NEUTRAL, linewidth=0.8, linestyle=":")
    if shown:
        right.legend(fontsize=8, loc="lower right")
    return figure
