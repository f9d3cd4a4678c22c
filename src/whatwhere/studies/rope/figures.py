"""The frequencies of a model: measured, and as its configuration asks for them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePath

import matplotlib.pyplot as plt
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from whatwhere.studies.results import Results
from whatwhere.studies.rope.tables import PlaneRope
from whatwhere.studies.terminal import number_runs

MOST = 6
"""Different sets of frequencies that are drawn."""


def draw_frequencies(results: Mapping[str, Results]) -> Canvas:
    """A line for each set of frequencies that the configuration asks for, and the measured ones as dots."""
    (one,) = results.values()
    canvas, axes = plt.subplots(figsize=(5.2, 3.4))
    by_layer: dict[tuple[str, int], list[tuple[int, float, float]]] = defaultdict(list)
    rows = one.rows("planes", PlaneRope)
    for row in rows:
        expected = -1.0 if math.isnan(row.expected) else row.expected  # NaN would make equal sets differ
        by_layer[row.model, row.layer].append((row.plane, round(row.measured, 9), round(expected, 9)))
    sets: dict[tuple[str, tuple[tuple[int, float, float], ...]], list[int]] = defaultdict(list)
    for (model, layer), numbers in by_layer.items():
        sets[model, tuple(numbers)].append(layer)
    several = len({row.model for row in rows}) > 1
    for color, ((model, numbers), layers) in enumerate(list(sets.items())[:MOST]):
        planes, measured, expected = zip(*numbers, strict=True)
        name = f"{PurePath(model).name[-24:]}, " if several else ""
        axes.plot(planes, measured, "o", ms=4, color=f"C{color}", label=f"{name}layers {number_runs(layers, ',')}")
        axes.plot(planes, [value if value >= 0 else math.nan for value in expected], color=f"C{color}", lw=1)
    axes.set(xlabel="plane", ylabel="radians per token", yscale="log", title="Dots: measured. Lines: configuration.")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if sets:
        axes.legend(frameon=False, fontsize=8)
    return canvas
