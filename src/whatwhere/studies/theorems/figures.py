"""Figure 4A, Figure 5A with exact values, Figure 5A for every layer, and the margin map."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from whatwhere.studies.results import Results
from whatwhere.studies.style import NEUTRAL, PALE, POSITIONAL, SYMBOLIC
from whatwhere.studies.theorems.curves import PICTURED
from whatwhere.studies.theorems.tables import PlaneVector
from whatwhere.theory.printed import CAPTION_THETA, INDEX_THETA, LENGTH, RETRIEVAL_THETA, frequency
from whatwhere.theory.robustness import FIGURE_LENGTH

FLOOR = 1e-6
"""The smallest margin that the map tells apart."""
NAMED_IDS = (1, 10, 18, 32, 42, 64)
CURVES = (
    ("index", CAPTION_THETA, "printed_bound", NEUTRAL, ":", 1.0, f"printed bound at the caption's {CAPTION_THETA}"),
    ("index", INDEX_THETA, "printed_bound", POSITIONAL, "--", 1.4, "printed bound (holds for the smallest)"),
    ("index", INDEX_THETA, "largest", POSITIONAL, ":", 1.6, "exact, largest over inputs (breaks it)"),
    ("index", INDEX_THETA, "smallest", POSITIONAL, "-", 2.2, "exact, smallest over inputs"),
    ("retrieval", RETRIEVAL_THETA, "printed_bound", SYMBOLIC, "--", 1.4, "printed bound"),
    ("retrieval", RETRIEVAL_THETA, "corrected_bound", SYMBOLIC, "-.", 1.4, "corrected bound"),
    ("retrieval", RETRIEVAL_THETA, "smallest", SYMBOLIC, "-", 2.2, "exact, smallest over inputs"),
)


def draw_discrepancy(results: Mapping[str, Results]) -> Figure:
    """Figure 5A, on a linear axis as printed and on a logarithmic one, where Index can be seen to the end."""
    frame = _only(results).frame("discrepancy").query(f"n <= {FIGURE_LENGTH}")
    figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 5.0))
    for axes in panels:
        for head, theta, column, colour, line, width, label in CURVES:
            rows = frame.query(f"head == {head!r} and theta == {theta!r}")
            shown = rows[column].where(rows[column] > 0)
            steps = "steps-mid" if head == "index" and "bound" not in column else "default"
            name = f"{head.title()}: {label}"
            axes.plot(rows["n"], shown, line, color=colour, linewidth=width, drawstyle=steps, label=name)
        axes.axvline(LENGTH, color=NEUTRAL, linewidth=0.8)
        axes.set(xlabel="input length n (tokens, query included)", xlim=(2, FIGURE_LENGTH))
    linear, logarithmic = panels
    linear.set(ylabel="discrepancy", ylim=(0, None))
    top = (LENGTH, linear.get_ylim()[1])
    linear.annotate("training length", top, (3, -10), textcoords="offset points", color=NEUTRAL)
    linear.set_title(rf"Index at $\theta$ = {INDEX_THETA:g}, Retrieval at $\theta$ = {RETRIEVAL_THETA:g}")
    logarithmic.set(yscale="log", title="the same, logarithmic")
    figure.legend(*linear.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    return figure


def draw_layers(results: Mapping[str, Results]) -> Figure:
    """Figure 5A's exact Retrieval curve at the frequency of every letter layer (erratum E29)."""
    frame = _only(results).frame("layers")
    figure, axes = pyplot.subplots(figsize=(7.5, 4.6))
    for id, rows in frame.groupby("frequency_id"):
        layers = ", ".join(map(str, rows["layer"].unique()))
        left = rows.drop_duplicates("n").query("smallest > 0")
        n, margin = left["n"].iloc[-1], left["smallest"].iloc[-1]
        lasts = n == FIGURE_LENGTH
        colour = SYMBOLIC if lasts else NEUTRAL
        axes.plot(left["n"], left["smallest"], color=colour, linewidth=1.4, linestyle="-" if lasts else "--")
        if lasts:
            axes.annotate(
                f"layer {layers} (ID {id})", (n, margin), (5, 0), textcoords="offset points", fontsize=8, va="center",
                color=colour, annotation_clip=False,
            )  # fmt: skip
        else:
            axes.plot(n, margin, "x", color=colour, markersize=5)
            axes.annotate(f"{layers}\nID {id}", (n, -0.005), fontsize=7, ha="center", va="top", color=colour)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(xlabel="input length n (tokens, query included)", ylabel="smallest discrepancy of Retrieval, exact")
    axes.set(xlim=(2, FIGURE_LENGTH), ylim=(-0.035, None))
    axes.set_title("Letter layers at the paper's frequencies: past a cross a wrong token wins")
    return figure


def draw_geometry(results: Mapping[str, Results]) -> Figure:
    """Figure 4A: all keys of T_Index are one vector v; the query of integer i stands i theta before it."""
    figure, (before, after) = pyplot.subplots(1, 2, figsize=(9.5, 5.0))
    titles = ("before rotation", f"query {PICTURED}, rotated by its distance n-j to a key")
    for axes, title in zip((before, after), titles, strict=True):
        axes.set_aspect("equal")
        axes.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), xlabel="first coordinate of the plane")
        axes.add_patch(Circle((0, 0), 1, fill=False, color=PALE, linewidth=0.8))
        axes.set_title(title)
        axes.annotate("every key = v", (0, 1.27), ha="center", weight="bold")
    before.set_ylabel("second coordinate of the plane")
    for row in _only(results).rows("vectors", PlaneVector):
        if row.vector == "key":
            _arrow(before, row.x, row.y, "black", "-", 4.0)
            _arrow(after, row.x, row.y, "black", "-", 4.0)
            continue
        axes, line, width = (before, "-", 1.4) if row.vector == "query" else (after, ":", 1.6)
        met = row.vector == "rotated" and row.number == PICTURED
        _arrow(axes, row.x, row.y, POSITIONAL, "-" if met else line, width)
        label = f"{row.number}" if row.vector == "query" else f"n-j = {row.number}"
        axes.annotate(label, (1.15 * row.x, 1.15 * row.y), ha="center", va="center", color=POSITIONAL)
    before.annotate("query of integer i: turned back by i$\\theta$", (0, -1.38), ha="center", color=POSITIONAL)
    after.annotate(f"it meets v at distance {PICTURED}, and only there", (0, -1.38), ha="center", color=POSITIONAL)
    return figure


def draw_margins(results: Mapping[str, Results]) -> Figure:
    """Which RoPE frequencies can serve which mechanism at which length."""
    frame = _only(results).frame("margins")
    figure, panels = pyplot.subplots(1, 2, figsize=(11.0, 4.8))
    heads = (("index", "Index (where)", "Oranges"), ("retrieval", "Retrieval (what)", "Greens"))
    for axes, (head, title, colours) in zip(panels, heads, strict=True):
        margins = frame.pivot_table(index="theta", columns="n", values=head)
        mesh = axes.pcolormesh(
            margins.columns, margins.index, margins.where(margins >= FLOOR), norm=LogNorm(FLOOR, 2), cmap=colours,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="input length n (tokens)")
        axes.grid(False)
        axes.axvline(LENGTH, color=NEUTRAL, linewidth=0.8, linestyle=":")
        axes.set_title(title)
        figure.colorbar(mesh, ax=axes, label=f"smallest discrepancy (blank: below {FLOOR:g})", pad=0.08)
        for id in NAMED_IDS:
            place = (1.01, frequency(id))
            axes.annotate(f"ID {id}", place, xycoords=("axes fraction", "data"), fontsize=7, va="center", color=NEUTRAL)
    panels[0].set_ylabel(r"RoPE angle $\theta$ (radians per token)")
    return figure


def _only(results: Mapping[str, Results]) -> Results:
    """There is one theory."""
    return next(iter(results.values()))


def _arrow(axes: Axes, x: float, y: float, colour: str, line: str, width: float) -> None:
    style = {"arrowstyle": "->", "color": colour, "linestyle": line, "linewidth": width}
    axes.annotate("", (x, y), (0, 0), arrowprops=style)
