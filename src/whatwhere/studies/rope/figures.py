"""The frequencies of a model: measured, and as its configuration asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from whatwhere.studies.results import Results
from whatwhere.studies.terminal import number_runs

MOST = 6
"""Different sets of frequencies that are drawn."""


def draw_frequencies(results: Mapping[str, Results]) -> Canvas:
    """A line for each set of frequencies that the configuration asks for, and the measured ones as dots."""
    (one,) = results.values()
    canvas, axes = plt.subplots(figsize=(5.2, 3.4))
    sets: dict[tuple[str, bytes], tuple[np.ndarray, list[int]]] = {}  # by bytes: NaN would make equal sets differ
    for (model, layer), rows in one["planes"].groupby(["model", "layer"], sort=False):  # pyright: ignore[reportGeneralTypeIssues]
        numbers = rows[["plane", "measured", "expected"]].round(9).to_numpy()
        sets.setdefault((model, numbers.tobytes()), (numbers, []))[1].append(layer)
    several = len({model for model, _ in sets}) > 1
    for color, ((model, _), (numbers, layers)) in enumerate(list(sets.items())[:MOST]):
        planes, measured, expected = numbers.T
        name = f"{PurePath(model).name[-24:]}, " if several else ""
        axes.plot(planes, measured, "o", ms=4, color=f"C{color}", label=f"{name}layers {number_runs(layers, ',')}")
        axes.plot(planes, expected, color="black", lw=0.8, zorder=3)  # on top: the dots would hide it
    axes.set(xlabel="plane", ylabel="radians per token", yscale="log", title="Dots: measured. Lines: configuration.")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if sets:
        axes.legend(frameon=False, fontsize=8)
    return canvas
