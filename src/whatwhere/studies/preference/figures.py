"""Figures of the study ``preference``: one model, and the arms of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whatwhere.studies.preference import tables
from whatwhere.studies.preference.arms import grouped
from whatwhere.studies.preference.tables import READINGS, Accuracy, Answer, HeadScore, means_by_length, share_of
from whatwhere.studies.results import Results
from whatwhere.studies.seed_means import over_seeds
from whatwhere.studies.style import HOPS, LINE, MARK, NEUTRAL, PALE, POSITIONAL, SYMBOLIC, error_bars
from whatwhere.tasks.both import EVERY, WHERE

COLOURS = {"symbolic": SYMBOLIC, "positional": POSITIONAL, tables.OTHER: PALE}


def draw_preference(results: Mapping[str, Results]) -> Figure:
    """Readings at the training length by hop class, the same against length, and the scores of the heads."""
    (one,) = results.values()
    answers, accuracy = one.rows("answers", Answer), one.rows("accuracy", Accuracy)
    trained = min(row.length for row in accuracy)
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 3.9), width_ratios=(1.1, 1.2, 0.9))
    _draw_readings(left, answers, trained)
    _draw_lengths(middle, answers, accuracy)
    _draw_heads(right, one.rows("heads", HeadScore))
    figure.suptitle(f"{one.short_name}: letters or distances?", fontsize=10)
    return figure


def _draw_readings(axes: Axes, rows: Sequence[Answer], trained: int) -> None:
    hops = sorted({row.hop for row in rows if row.hop is not None})
    bars = [(where, hop) for where in WHERE for hop in hops]
    for at, (where, hop) in enumerate(bars):
        start = 0.0
        for reading in READINGS:
            share = share_of(rows, reading, trained, where, hop)
            axes.barh(at, share.value, 0.7, start, color=COLOURS[reading], label=reading if at == 0 else None)
            if share.value > 0.08:
                colour = "black" if reading == tables.OTHER else "white"
                axes.text(start + share.value / 2, at, f"{share.value:.2f}", ha="center", va="center", color=colour)
            start += share.value
    names = [f"{where} hop, {hop} hop{'s' * (hop > 1)}" for where, hop in bars]
    axes.set_yticks(range(len(bars)), names)
    axes.set(ylim=(len(bars) - 0.5, -0.5), xlim=(0, 1), xlabel=f"share of answers at {trained} tokens")
    axes.set_title("answers where the cues disagree")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, fontsize=8)


def _draw_lengths(axes: Axes, answers: Sequence[Answer], accuracy: Sequence[Accuracy]) -> None:
    means = means_by_length(accuracy)
    lengths = list(means)
    lines = {"right, cues agree": ("^-", NEUTRAL, list(means.values()))}
    for reading in READINGS[:2]:
        shares = [share_of(answers, reading, length, EVERY) for length in lengths]
        lines[f"{reading}, cues disagree"] = (f"{MARK[reading]}{LINE[reading]}", COLOURS[reading], shares)
    for label, (line, colour, shares) in lines.items():
        axes.plot(lengths, [share.value for share in shares], line, color=colour, markersize=4, label=label)
        axes.fill_between(
            lengths, [share.low for share in shares], [share.high for share in shares], color=colour, alpha=0.15
        )
    axes.set_xscale("log")
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.set(ylim=(-0.03, 1.05), xlabel="input length (tokens)", ylabel="share of answers")
    axes.set_title("longer inputs (95 %)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, fontsize=7)


def _draw_heads(axes: Axes, rows: Sequence[HeadScore]) -> None:
    for kind, colour in (("positional", POSITIONAL), ("symbolic", SYMBOLIC)):
        scores = [getattr(row, kind) for row in rows]
        shift = 0.12 if kind == "symbolic" else -0.12
        places = [at + shift for at in range(len(rows))]
        values, ends = [score.value for score in scores], error_bars(scores)
        axes.errorbar(values, places, xerr=ends, fmt=MARK[kind], color=colour, markersize=5, label=kind)
    axes.set_yticks(range(len(rows)), [f"{row.layer}.{row.head}" for row in rows])
    axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(-0.03, 1.03), xlabel="score", ylabel="head")
    axes.set_title("scores of the heads")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)


def draw_arms(results: Mapping[str, Results]) -> Figure:
    """A line for each arm: symbolic answers and accuracy at each length; a mark per seed, bars are 95 % over seeds."""
    arms = grouped(list(results))
    means = {name: means_by_length(one.rows("accuracy", Accuracy)) for name, one in results.items()}
    lengths = sorted(set.intersection(*(set(found) for found in means.values())))
    answers = {name: one.rows("answers", Answer) for name, one in results.items()}
    columns = {
        f"symbolic answers\nat {lengths[0]} tokens": {
            name: share_of(rows, tables.SYMBOLIC, lengths[0], EVERY) for name, rows in answers.items()
        }
    }
    for length in lengths:
        columns[f"accuracy\nat {length} tokens"] = {name: found[length] for name, found in means.items()}
    figure, panels = pyplot.subplots(
        1, len(columns), figsize=(2.6 + 1.75 * len(columns), 1.5 + 0.4 * len(arms)), sharey=True, squeeze=False
    )
    for number, (axes, (title, values)) in enumerate(zip(panels[0], columns.items(), strict=True)):
        colour = SYMBOLIC if number == 0 else HOPS[0]
        for at, names in enumerate(arms.values()):
            each = [values[name].value for name in names]
            mean = over_seeds(each, 0.0, 1.0)
            if not isnan(mean.low):
                axes.plot(mean.interval, [at, at], "-", color=colour, alpha=0.35, linewidth=4, solid_capstyle="butt")
            axes.plot(each, [at] * len(each), "o", color=colour, markersize=4, mfc="white")
            axes.plot(mean.value, at, "|", color=colour, markersize=12, markeredgewidth=2)
        axes.set(xlim=(-0.05, 1.05), xticks=(0, 0.5, 1))
        axes.set_title(title)
    panels[0, 0].set_yticks(range(len(arms)), list(arms))
    panels[0, 0].set_ylim(len(arms) - 0.5, -0.5)
    return figure
