"""Fig. 4A, Fig. 5A and the margin map: each drawn as PDF and PNG, with the numbers in a CSV file beside.

Positional is red and symbolic green, as in the paper; the two shades differ in lightness and for every common kind of
colour vision, and line style says the same again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from whatwhere.model.rope import rope_frequencies
from whatwhere.storage import whole_file, write_csv
from whatwhere.theory.directions import UP, turned
from whatwhere.theory.discrepancy import (
    index_largest,
    index_printed_bound,
    index_smallest,
    retrieval_printed_bound,
    retrieval_smallest,
    retrieval_smallest_bound,
)
from whatwhere.theory.reach import MarginMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

POSITIONAL, SYMBOLIC = "#d55e00", "#009e73"
GREY = "#555555"
CAPTION_THETA = 0.8
"""The Index angle that the caption of Fig. 5 names; frequency ID 2 is 0.866 (erratum E12)."""
FLOOR = 1e-6
"""The smallest margin that the map tells apart."""


def discrepancy_rows(
    longest: int = 100, index_theta: float = 0.866, retrieval_theta: float = 0.0027, letters: int = 8
) -> list[dict[str, float | int]]:
    """The data of Fig. 5A: printed bounds, corrected bounds and exact values at every length."""
    rows: list[dict[str, float | int]] = []
    for n in range(2, longest + 1):
        exact = retrieval_smallest(n, retrieval_theta, letters)
        rows.append(
            {
                "n": n,
                "index_printed_bound": index_printed_bound(n, index_theta),
                "index_caption_bound": index_printed_bound(n, CAPTION_THETA),
                "index_smallest": index_smallest(n, index_theta),
                "index_largest": index_largest(n, index_theta),
                "retrieval_printed_bound": retrieval_printed_bound(n, retrieval_theta, letters),
                "retrieval_corrected_bound": retrieval_smallest_bound(n, retrieval_theta, letters),
                "retrieval_smallest": exact if exact > 0 else math.nan,
            }
        )
    return rows


def draw_discrepancy(
    rows: Sequence[Mapping[str, float | int]],
    directory: Path,
    index_theta: float = 0.866,
    retrieval_theta: float = 0.0027,
) -> None:
    """Fig. 5A, on a linear axis as printed and on a logarithmic one, where Index can be seen to the end."""
    figure, (linear, logarithmic) = _axes(11.0, 4.8)
    curves = (
        ("index_caption_bound", GREY, ":", 1.0, f"Index: printed bound, angle {CAPTION_THETA} of the caption"),
        ("index_printed_bound", POSITIONAL, "--", 1.4, "Index: printed bound (holds for the smallest)"),
        ("index_largest", POSITIONAL, ":", 1.6, "Index: exact, largest over inputs (breaks it)"),
        ("index_smallest", POSITIONAL, "-", 2.2, "Index: exact, smallest over inputs"),
        ("retrieval_printed_bound", SYMBOLIC, "--", 1.4, "Retrieval: printed bound"),
        ("retrieval_corrected_bound", SYMBOLIC, "-.", 1.4, "Retrieval: corrected bound"),
        ("retrieval_smallest", SYMBOLIC, "-", 2.2, "Retrieval: exact, smallest over inputs"),
    )
    lengths = [row["n"] for row in rows]
    for axes in (linear, logarithmic):
        for name, colour, style, width, label in curves:
            axes.plot(lengths, [row[name] for row in rows], style, color=colour, linewidth=width, label=label)
        axes.axvline(17, color=GREY, linewidth=0.8)
        axes.set_xlabel("input length n (tokens, query included)")
        axes.set_xlim(2, lengths[-1])
    linear.set_ylabel("discrepancy")
    linear.set_ylim(0, None)
    linear.annotate("training length", (17, linear.get_ylim()[1]), (3, -10), textcoords="offset points", color=GREY)
    logarithmic.set_yscale("log")
    linear.set_title(rf"Index at $\theta$ = {index_theta:g}, Retrieval at $\theta$ = {retrieval_theta:g}", loc="left")
    logarithmic.set_title("the same, logarithmic", loc="left")
    handles, labels = linear.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    _save(figure, directory / "figure-5a-discrepancy")
    columns = list(rows[0])
    write_csv(directory / "figure-5a-discrepancy.csv", columns, [[row[name] for name in columns] for row in rows])


def draw_geometry(directory: Path, theta: float = 0.866, integers: int = 8) -> None:
    """Fig. 4A: all keys of T_Index are one vector v; the query of integer i stands i theta before it."""
    angles = {i: turned(UP, -i * theta).numpy() for i in range(integers + 1)}
    figure, (before, after) = _axes(9.5, 5.0)
    for axes, title in ((before, "before rotation"), (after, "query 3, rotated by its distance n-j to a key")):
        axes.set_aspect("equal")
        axes.set_xlim(-1.45, 1.45)
        axes.set_ylim(-1.45, 1.45)
        axes.add_patch(_circle())
        axes.set_title(title, loc="left")
        axes.set_xlabel("first coordinate of the plane")
        _arrow(axes, UP.numpy(), "black", "-", 4.0)
        axes.annotate("every key = v", (0, 1.27), ha="center", weight="bold")
    before.set_ylabel("second coordinate of the plane")
    for i in range(1, integers + 1):
        _arrow(before, angles[i], POSITIONAL, "-", 1.4)
        before.annotate(f"{i}", tuple(1.13 * angles[i]), ha="center", va="center", color=POSITIONAL)
    before.annotate("query of integer i: turned back by i$\\theta$", (0, -1.38), ha="center", color=POSITIONAL)
    rotated = [turned(UP, (distance - 3) * theta).numpy() for distance in range(6)]
    for distance, vector in enumerate(rotated):
        _arrow(after, vector, POSITIONAL, "-" if distance == 3 else ":", 1.6)
        after.annotate(
            f"n-j = {distance}", tuple(1.17 * vector), ha="center", va="center", color=POSITIONAL, fontsize=9
        )
    after.annotate("it meets v at distance 3, and only there", (0, -1.38), ha="center", color=POSITIONAL)
    _save(figure, directory / "figure-4a-geometry")
    rows: list[list[object]] = [["key", "", 0.0, 1.0]]
    rows += [["query", i, *map(float, angles[i])] for i in range(1, integers + 1)]
    rows += [["query 3 rotated", distance, *map(float, vector)] for distance, vector in enumerate(rotated)]
    write_csv(directory / "figure-4a-geometry.csv", ["vector", "integer_or_distance", "x", "y"], rows)


def draw_margin_map(margins: MarginMap, directory: Path) -> None:
    """Which RoPE frequencies can serve which mechanism at which length."""
    from matplotlib.colors import LogNorm

    figure, axes = _axes(11.0, 4.8)
    panels = (
        (axes[0], "Index (where)", margins.index, "Oranges"),
        (axes[1], "Retrieval (what)", margins.retrieval, "Greens"),
    )
    for panel, title, values, colours in panels:
        shown = np.ma.masked_less(values, FLOOR)
        mesh = panel.pcolormesh(
            margins.lengths,
            margins.thetas,
            shown,
            norm=LogNorm(FLOOR, 2),
            cmap=colours,
            shading="nearest",
            rasterized=True,
        )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.axvline(17, color=GREY, linewidth=0.8, linestyle=":")
        panel.set_xlabel("input length n")
        panel.set_title(title, loc="left")
        figure.colorbar(mesh, ax=panel, label="smallest discrepancy (blank: none)")
        _mark_frequencies(panel, float(margins.thetas.min()), float(margins.thetas.max()))
    axes[0].set_ylabel(r"RoPE angle $\theta$ (radians per token)")
    _save(figure, directory / "margin-map")
    rows = [
        [float(theta), int(n), float(margins.index[i, j]), float(margins.retrieval[i, j])]
        for i, theta in enumerate(margins.thetas)
        for j, n in enumerate(margins.lengths)
    ]
    write_csv(directory / "margin-map.csv", ["theta", "n", "index_smallest", "retrieval_smallest"], rows)


def _mark_frequencies(axes: Axes, slowest: float, fastest: float) -> None:
    """Ticks on the right for some of the paper's 64 frequency IDs."""
    frequencies = rope_frequencies(128, 10000.0).numpy()
    marked = [i for i in (1, 10, 18, 32, 42, 64) if slowest <= frequencies[i - 1] <= fastest]
    for i in marked:
        axes.annotate(
            f"ID {i}",
            (1.01, frequencies[i - 1]),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            va="center",
            color=GREY,
        )


def _axes(width: float, height: float) -> tuple[Figure, np.ndarray]:
    """A figure of two panels, drawn without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(width, height), layout="constrained")
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _arrow(axes: Axes, vector: np.ndarray, colour: str, style: str, width: float) -> None:
    axes.annotate(
        "",
        tuple(vector),
        (0, 0),
        arrowprops={"arrowstyle": "->", "color": colour, "linestyle": style, "linewidth": width},
    )


def _circle() -> Circle:
    from matplotlib.patches import Circle

    return Circle((0, 0), 1, fill=False, color="#bbbbbb", linewidth=0.8)


def _save(figure: Figure, path: Path) -> None:
    from matplotlib import pyplot as plt

    for kind in ("pdf", "png"):
        stamp = {"CreationDate": None} if kind == "pdf" else {}  # same numbers, same bytes
        with whole_file(path.with_suffix(f".{kind}")) as beside:
            figure.savefig(beside, format=kind, dpi=160, metadata=stamp)
    plt.close(figure)
