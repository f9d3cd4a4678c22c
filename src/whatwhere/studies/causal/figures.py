"""The figure of the study ``causal``: what each change costs, by label, against the same change of other heads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from whatwhere.studies.causal.tables import CHANGES, LABELS, Effect
from whatwhere.studies.results import Results
from whatwhere.studies.style import LABELLED, NEUTRAL, PALE

STEP = 0.22
"""Between the labels of one probe."""


def draw_effects(results: Mapping[str, Results]) -> Figure:
    """A panel for each change, a row for each probe: filled its heads, a grey bar the control, each with 95 %."""
    (one,) = results.values()
    rows = one.rows("effects", Effect)
    probes = list(dict.fromkeys(row.probe for row in rows))
    figure, panels = pyplot.subplots(1, len(CHANGES), figsize=(12.5, 1.6 + 0.62 * len(probes)), sharey=True)
    for change, axes in zip(CHANGES, panels, strict=True):
        for row in (row for row in rows if row.change == change):
            at = probes.index(row.probe) + STEP * (LABELS.index(row.label) - 1)
            colour, mark = LABELLED[row.label]
            axes.barh(at, row.control.high - row.control.low, STEP * 0.8, row.control.low, color=PALE)
            axes.plot([row.control.value] * 2, [at - STEP * 0.4, at + STEP * 0.4], color=NEUTRAL, linewidth=1)
            axes.plot(row.loss.interval, [at, at], color=colour, linewidth=1.5)
            axes.plot(row.loss.value, at, mark, color=colour, markersize=5)
        axes.axvline(0, color=NEUTRAL, linewidth=0.8)
        axes.set_title(change)
        axes.set_xlabel("increase of the loss (nats)")
        if (spread := np.ptp(axes.get_xlim())) > 4:  # few probes must not hide the others
            axes.set_xscale("symlog", linthresh=max(0.1, spread / 40))
            axes.autoscale(axis="x")
    panels[0].set_yticks(range(len(probes)), probes)
    panels[0].set_ylim(len(probes) - 0.5, -0.5)
    figure.suptitle(f"{one.short_name}: heads changed by label", fontsize=10)
    handles: list[Line2D | Patch] = [
        Line2D([], [], marker=mark, color=colour, label=f"{label} heads (95 %)")
        for label, (colour, mark) in LABELLED.items()
        if any(row.label == label for row in rows)
    ]
    handles.append(Patch(color=PALE, label="other heads in the same layers (95 %)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    return figure
