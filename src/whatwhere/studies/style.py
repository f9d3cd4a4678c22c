"""The style of all figures: positional red and symbolic green as in the paper, also distinguished by line and mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.text import Text

from whatwhere.heads import display
from whatwhere.heads.estimate import Estimate
from whatwhere.store.files import whole_file

POSITIONAL, SYMBOLIC, PALE = display.POSITIONAL, display.SYMBOLIC, display.FLAT
ENTROPY = "#6f4fa0"
NEUTRAL = "#555555"
HOPS = ("#1f3b73", "#2f6db5", "#5a9bd8", "#8fc1ea")
"""One to four hops, dark to light; longer chains continue from the first."""
TASK = {"number": POSITIONAL, "letter": SYMBOLIC, "both": ENTROPY}
LINE = {"positional": "-", "symbolic": "--", "number": "-", "letter": "--", "both": "-."}
LABELLED = {
    "positional": (POSITIONAL, "o"), "symbolic": (SYMBOLIC, "s"), "uniform": (PALE, "D"), "mixed": (NEUTRAL, "^"),
}  # fmt: skip
"""Colour and mark of heads by their label."""
MARK = {"positional": "o", "symbolic": "s", "number": "o", "letter": "s", "both": "^"}

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#eeeeee",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "pdf.fonttype": 42,
    "svg.hashsalt": "whatwhere",
}


def error_bars(estimates: Sequence[Estimate]) -> list[list[float]]:
    """The distances of both ends of each interval, as ``errorbar`` takes them."""
    return [[max(e.value - e.low, 0.0) for e in estimates], [max(e.high - e.value, 0.0) for e in estimates]]


def length_axis(axes: Axes, lengths: Iterable[int], label: str = "") -> None:
    """A logarithmic axis with ticks at measured lengths, leaving out those too near for their labels."""
    kept: list[int] = []
    for length in sorted(set(lengths)):
        if not kept or length >= 1.45 * kept[-1]:
            kept.append(length)
    axes.set_xscale("log")
    axes.set_xticks(kept, [str(length) for length in kept])
    axes.minorticks_off()
    axes.set_xlabel(label)


@contextmanager
def style() -> Iterator[None]:
    """Draws without a display and in our style, then restores matplotlib's settings."""
    matplotlib.use("Agg")
    with matplotlib.rc_context(_SETTINGS):
        yield


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes ``path`` as vector PDF and as PNG atomically, and closes the figure."""
    for text in figure.findobj(Text):  # file names may contain characters that no font has
        assert isinstance(text, Text)
        shown = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text.get_text())
        if shown != text.get_text():
            text.set_text(shown)
    figure.set_dpi(_SETTINGS["savefig.dpi"])  # the width of letters depends on it
    if (layout := figure.get_layout_engine()) is not None:  # computed once for both files: it is slow
        layout.execute(figure)
        figure.set_layout_engine("none")
    written = [path.with_suffix(suffix) for suffix in (".pdf", ".png")]
    pdf, png = written  # by their canvases: ``savefig`` draws each file twice, once for the layout
    with whole_file(png) as beside:
        FigureCanvasAgg(figure).print_png(beside, metadata={"Software": None})
    with whole_file(pdf) as beside:  # last, because it changes the dpi
        FigureCanvasPdf(figure).print_pdf(beside, metadata={"CreationDate": None})
    pyplot.close(figure)
    return written
