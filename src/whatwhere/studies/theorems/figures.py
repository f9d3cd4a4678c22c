"""Fig. 4A, Fig. 5A and the margin map, drawn from the CSV files that ``whatwhere.theory.curves`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import rope_frequencies
from whatwhere.store.storage import read_csv
from whatwhere.studies.style import NEUTRAL, POSITIONAL, SYMBOLIC, save_figure, style
from whatwhere.theory.curves import CAPTION_THETA, DISCREPANCY, GEOMETRY, MARGINS, PICTURED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOOR = 1e-6
"""The smallest margin that the map tells apart."""
TRAINED = 17
"""The length of the paper's inputs."""
CURVES = (
    ("index_caption_bound", NEUTRAL, ":", 1.0, f"Index: printed bound, angle {CAPTION_THETA} of the caption"),
    ("index_printed_bound", POSITIONAL, "--", 1.4, "Index: printed bound (holds for the smallest)"),
    ("index_largest", POSITIONAL, ":", 1.6, "Index: exact, largest over inputs (breaks it)"),
    ("index_smallest", POSITIONAL, "-", 2.2, "Index: exact, smallest over inputs"),
    ("retrieval_printed_bound", SYMBOLIC, "--", 1.4, "Retrieval: printed bound"),
    ("retrieval_corrected_bound", SYMBOLIC, "-.", 1.4, "Retrieval: corrected bound"),
    ("retrieval_smallest", SYMBOLIC, "-", 2.2, "Retrieval: exact, smallest over inputs"),
)


def draw_theory(directory: Path) -> list[Path]:
    """Draws every figure of the theory beside its data.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    return [*draw_discrepancy(directory), *draw_geometry(directory), *draw_margins(directory)]


def draw_discrepancy(directory: Path) -> list[Path]:
    """Fig. 5A, on a linear axis as printed and on a logarithmic one, where Index can be seen to the end."""
    from matplotlib import pyplot

    path = directory / DISCREPANCY
    columns = _numbers(path, ["n", "index_theta", "retrieval_theta", *(name for name, *_ in CURVES)])
    with style():
        figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 4.8))
        for axes in panels:
            for name, colour, line, width, label in CURVES:
                axes.plot(columns["n"], columns[name], line, color=colour, linewidth=width, label=label)
            axes.axvline(TRAINED, color=NEUTRAL, linewidth=0.8)
            axes.set_xlabel("input length n (tokens, query included)")
            axes.set_xlim(2, columns["n"][-1])
        linear, logarithmic = panels
        linear.set_ylabel("discrepancy")
        linear.set_ylim(0, None)
        linear.annotate(
            "training length", (TRAINED, linear.get_ylim()[1]), (3, -10), textcoords="offset points", color=NEUTRAL
        )
        logarithmic.set_yscale("log")
        index, retrieval = columns["index_theta"][0], columns["retrieval_theta"][0]
        linear.set_title(rf"Index at $\theta$ = {index:g}, Retrieval at $\theta$ = {retrieval:g}")
        logarithmic.set_title("the same, logarithmic")
        handles, labels = linear.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
        return save_figure(figure, path.with_suffix(""))


def draw_geometry(directory: Path) -> list[Path]:
    """Fig. 4A: all keys of T_Index are one vector v; the query of integer i stands i theta before it."""
    from matplotlib import pyplot
    from matplotlib.patches import Circle

    path = directory / GEOMETRY
    kinds = [row["vector"] for row in read_csv(path, "the data of Figure 4A", ["vector"])]
    columns = _numbers(path, ["number", "x", "y"])
    vectors = list(zip(kinds, columns["number"].astype(int), columns["x"], columns["y"], strict=True))
    with style():
        figure, (before, after) = pyplot.subplots(1, 2, figsize=(9.5, 5.0))
        titles = ("before rotation", f"query {PICTURED}, rotated by its distance n-j to a key")
        for axes, title in zip((before, after), titles, strict=True):
            axes.set_aspect("equal")
            axes.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), xlabel="first coordinate of the plane")
            axes.add_patch(Circle((0, 0), 1, fill=False, color="#bbbbbb", linewidth=0.8))
            axes.set_title(title)
            axes.annotate("every key = v", (0, 1.27), ha="center", weight="bold")
        before.set_ylabel("second coordinate of the plane")
        for kind, number, x, y in vectors:
            if kind == "key":
                _arrow(before, x, y, "black", "-", 4.0)
                _arrow(after, x, y, "black", "-", 4.0)
            elif kind == "query":
                _arrow(before, x, y, POSITIONAL, "-", 1.4)
                before.annotate(f"{number}", (1.13 * x, 1.13 * y), ha="center", va="center", color=POSITIONAL)
            else:
                _arrow(after, x, y, POSITIONAL, "-" if number == PICTURED else ":", 1.6)
                after.annotate(f"n-j = {number}", (1.17 * x, 1.17 * y), ha="center", va="center", color=POSITIONAL)
        before.annotate("query of integer i: turned back by i$\\theta$", (0, -1.38), ha="center", color=POSITIONAL)
        after.annotate(f"it meets v at distance {PICTURED}, and only there", (0, -1.38), ha="center", color=POSITIONAL)
        return save_figure(figure, path.with_suffix(""))


def draw_margins(directory: Path) -> list[Path]:
    """Which RoPE frequencies can serve which mechanism at which length."""
    from matplotlib import pyplot
    from matplotlib.colors import LogNorm

    path = directory / MARGINS
    columns = _numbers(path, ["theta", "n", "index_smallest", "retrieval_smallest"])
    thetas, lengths = np.unique(columns["theta"]), np.unique(columns["n"])
    at = np.searchsorted(thetas, columns["theta"]), np.searchsorted(lengths, columns["n"])
    with style():
        figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 4.8))
        heads = (("index", "Index (where)", "Oranges"), ("retrieval", "Retrieval (what)", "Greens"))
        for axes, (head, title, colours) in zip(panels, heads, strict=True):
            margins = np.full((len(thetas), len(lengths)), np.nan)
            margins[at] = columns[f"{head}_smallest"]
            shown = np.ma.masked_invalid(np.where(margins < FLOOR, np.nan, margins))
            mesh = axes.pcolormesh(
                lengths, thetas, shown, norm=LogNorm(FLOOR, 2), cmap=colours, shading="nearest", rasterized=True
            )
            axes.set(xscale="log", yscale="log", xlabel="input length n")
            axes.grid(False)
            axes.axvline(TRAINED, color=NEUTRAL, linewidth=0.8, linestyle=":")
            axes.set_title(title)
            figure.colorbar(mesh, ax=axes, label="smallest discrepancy (blank: none)")
            _mark_frequencies(axes, thetas[0], thetas[-1])
        panels[0].set_ylabel(r"RoPE angle $\theta$ (radians per token)")
        return save_figure(figure, path.with_suffix(""))


def _mark_frequencies(axes: Axes, slowest: float, fastest: float) -> None:
    """Names on the right for some of the paper's 64 frequency IDs."""
    frequencies = rope_frequencies(128, 10000.0).numpy()
    for i in (1, 10, 18, 32, 42, 64):
        if slowest <= frequencies[i - 1] <= fastest:
            place = (1.01, frequencies[i - 1])
            axes.annotate(f"ID {i}", place, xycoords=("axes fraction", "data"), fontsize=7, va="center", color=NEUTRAL)


def _arrow(axes: Axes, x: float, y: float, colour: str, line: str, width: float) -> None:
    axes.annotate(
        "", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "linestyle": line, "linewidth": width}
    )


def _numbers(path: Path, names: list[str]) -> dict[str, Float[np.ndarray, "row"]]:
    """Columns of a table as numbers; an empty cell is undefined.

    Raises:
        WhatwhereError: the table is missing, damaged or empty.
    """
    rows = read_csv(path, "the data of a figure", names)
    try:
        columns = {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}
    except ValueError as error:
        raise WhatwhereError(f"{path} is damaged: {error}. Make it anew with: whatwhere theory --out DIR") from error
    if not rows:
        raise WhatwhereError(f"{path} has no rows. Make it anew with: whatwhere theory --out DIR")
    return columns
