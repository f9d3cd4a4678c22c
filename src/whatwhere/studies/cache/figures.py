"""Figures of the study ``cache``: what streaming costs by ranking and budget, and which KV heads are streamed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from whatwhere.studies.cache.tables import RANDOM, Need, Policy
from whatwhere.studies.results import Results
from whatwhere.studies.style import ENTROPY, NEUTRAL, POSITIONAL, SYMBOLIC, error_bars

LOOK = {
    "positional": (POSITIONAL, "o-"), "both": ("#000000", "D-"), "far": ("#0072b2", "v--"),
    "induction": (SYMBOLIC, "s--"), "paper": (ENTROPY, "^-."), RANDOM: (NEUTRAL, "x:"),
}  # fmt: skip


def draw_losses(results: Mapping[str, Results]) -> Figure:
    """Left: loss above the full cache. Right, if the model can do it: pass keys found."""
    one = next(iter(results.values()))
    rows = one.rows("policies", Policy)
    panels = 2 if any(row.passkey.n for row in rows) else 1
    figure, axes = pyplot.subplots(1, panels, figsize=(1 + 4.4 * panels, 4), squeeze=False)
    _curves(axes[0, 0], rows, "above")
    axes[0, 0].set(ylabel="nats per token", title="loss above the full cache (95 %)")
    axes[0, 0].set_ylim(bottom=min(0.0, *(row.above.low for row in rows)))
    axes[0, 0].legend(fontsize=8, loc="upper left")
    for right in axes[0, 1:]:
        _curves(right, rows, "passkey")
        right.set(ylim=(-0.03, 1.05), ylabel="accuracy", title="pass keys found")
    figure.suptitle(one.short_name, fontsize=10)
    return figure


def _curves(axes: Axes, rows: list[Policy], column: str) -> None:
    budgets = sorted({row.budget for row in rows})
    names = list(dict.fromkeys(row.ranking for row in rows))
    for number, name in enumerate(names):
        found = {row.budget: getattr(row, column) for row in rows if row.ranking == name}
        colour, line = LOOK[name]
        aside = 0.004 * (number - (len(names) - 1) / 2)  # so that intervals do not hide each other
        x, shown = [budget + aside for budget in budgets], [found[budget] for budget in budgets]
        axes.errorbar(
            x, [one.value for one in shown], error_bars(shown), fmt=line, color=colour, markersize=4, linewidth=1.3,
            elinewidth=0.8, label=name,
        )  # fmt: skip
    axes.set_xticks(budgets, [f"{100 * budget:g} %" for budget in budgets])
    axes.set_xlim(budgets[0] - 0.08, budgets[-1] + 0.08)
    axes.set_xlabel("KV heads streamed")


def draw_map(results: Mapping[str, Results]) -> Figure:
    """A panel for each ranking, a cell for each KV head: the darker, the earlier it is streamed."""
    one = next(iter(results.values()))
    rows, budgets = one.rows("needs", Need), sorted(one.settings.budgets)
    names = [name for name in dict.fromkeys(row.ranking for row in rows) if name != RANDOM] or [RANDOM]
    layers, heads = 1 + max(row.layer for row in rows), 1 + max(row.kv_head for row in rows)
    total = layers * heads
    size = max(1.1, 0.2 * heads + 0.5)
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(size * len(names) + 2.2, min(7.5, max(2.8, 0.19 * layers + 1))), squeeze=False,
        sharey=True,
    )  # fmt: skip
    colours = pyplot.get_cmap("viridis", len(budgets) + 1)
    ends = [-0.5, *(round(budget * total) - 0.5 for budget in budgets), total + 0.5]
    for axes, name in zip(panels[0], names, strict=True):
        picture = np.full((layers, heads), np.nan)
        for row in rows:
            if (row.ranking, row.draw) == (name, 0):
                picture[row.layer, row.kv_head] = row.place
        axes.imshow(picture, aspect="auto", interpolation="nearest", cmap=colours, norm=BoundaryNorm(ends, colours.N))
        axes.grid(visible=False)
        axes.set_xticks(range(0, heads, max(1, heads // 8)))
        axes.set(title=name, xlabel="KV head")
    panels[0, 0].set_ylabel("layer")
    labels = [f"at {100 * budget:g} %" for budget in budgets]
    handles = [Patch(color=colours(at), label=text) for at, text in enumerate([*labels, "whole cache"])]
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, title="streamed")
    figure.suptitle(one.short_name, fontsize=10)
    return figure
