"""The figure of the study ``vocabularies``: what doubling each size costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whatwhere.studies.atlas.factors import BASE
from whatwhere.studies.results import Results
from whatwhere.studies.style import MARK, PALE, TASK
from whatwhere.studies.vocabularies.tables import FACTORS, PURE, STEPS, Cost, SizedRun, reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_costs(results: Mapping[str, Results]) -> Figure:
    """Steps, purity and reach: a panel each, a line for each size, a mark for each task."""
    from matplotlib import pyplot

    (one,) = results.values()
    rows, runs = one.rows("costs", Cost), one.rows("runs", SizedRun)
    first = one.settings.multiples[0]
    panels = {
        STEPS: "steps until learned (doublings)",
        PURE: "share of pure heads",
        reach(first): f"accuracy at {first} times the training length",
    }
    labels = list(dict.fromkeys(_label(row) for row in rows if row.outcome in panels))
    size = (12.5, 1.5 + 0.38 * max(len(labels), 1))
    figure, axes = pyplot.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for ax, (outcome, title) in zip(axes[0], panels.items(), strict=True):
        _panel(ax, [row for row in rows if row.outcome == outcome], labels)
        ax.set_title(title, fontsize=9)
    axes[0, 0].set_yticks(range(len(labels)), labels, fontsize=8)
    axes[0, 0].set_ylim(max(len(labels), 1) - 0.4, -0.6)
    tasks = dict.fromkeys(run.task for run in runs)
    handles = [axes[0, 0].plot([], [], MARK[task], color=TASK[task], label=f"{task} task")[0] for task in tasks]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8)
    learned = sum(run.learned for run in runs)
    figure.suptitle(
        f"What doubling a size adds, paired by seed. Bars: 95 % over seeds. {learned} of {len(runs)} runs learn.",
        x=0.01, ha="left", fontsize=10,
    )  # fmt: skip
    return figure


def _label(row: Cost) -> str:
    return FACTORS[row.factor] + ("" if row.at == BASE else f" ({row.at})")


def _panel(ax: Axes, rows: Sequence[Cost], labels: Sequence[str]) -> None:
    ax.axvline(0, color=PALE, linewidth=1.2)
    known = [row for row in rows if not math.isnan(row.per_doubling.value)]
    for row in known:
        y = labels.index(_label(row)) + (-0.14 if row.task == "number" else 0.14)
        found, colour = row.per_doubling, TASK[row.task]
        if found.n > 1:
            ax.plot(found.interval, (y, y), color=colour, linewidth=1.2)
        ax.plot(found.value, y, MARK[row.task], color=colour, markersize=4.5)
    if known:  # three seeds give intervals far wider than the effects: they may leave the panel
        reached = 1.6 * max(abs(row.per_doubling.value) for row in known) or 1.0
        ax.set_xlim(-reached, reached)
    ax.tick_params(labelsize=7.5)
