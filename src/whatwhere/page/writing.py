"""Builds every page: of a reproduction, of a run, of one study, of a sweep.

    vendor/          d3 and Observable Plot, as published
    assets/common/   shared by all parts: colours, controls, charts, the layer-by-head map, results and choices
    assets/          the parts that belong to no study
    studies/X/part.js    the part of a study

Scripts are plain files that add themselves to one object, ``whatwhere``. A part is shown if its results exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from whatwhere.page.contents import collect
from whatwhere.page.document import assemble
from whatwhere.store.files import write_text

FILE = "report.html"
HOME = "whatwhere.page"
VENDOR = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
COMMON = tuple(
    f"assets/common/{name}.js"
    for name in ("start", "dom", "theme", "controls", "table", "chart", "effects", "results", "headmap", "parts")
)
LAST = "assets/page.js"
STYLES = ("assets/common/common.css", "assets/page.css")
GENERAL = ("story", "claims", "head", "tasks", "sequence", "about")
"""The parts of every page of results that belong to no study."""


def read(name: str, package: str = HOME) -> str:
    """The text of a file below a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def build(title: str, parts: Sequence[str], data: Mapping[str, Any]) -> str:
    """One HTML document.

    Args:
        title: shown by the browser; any text.
        parts: scripts, in order: names of parts in ``assets/``, or ``package:file`` for those of studies.
        data: what they show. ``heading`` and ``lead`` are at the top.
    """
    own = [read(*reversed(part.split(":"))) if ":" in part else read(f"assets/{part}.js") for part in parts]
    return assemble(
        title,
        read("assets/page.html"),
        "".join(map(read, STYLES)),
        [*map(read, (*VENDOR, *COMMON)), *own, read(LAST)],
        data,
    )


def write_page(directory: Path) -> Path:
    """Writes ``DIR/report.html`` from what is on disk.

    Args:
        directory: of a reproduction, of a run, or of the results of one study. Parts whose results are missing are
            left out, and the page says which command makes them.

    Returns:
        The file: self-contained, it opens from disk.

    Raises:
        WhatwhereError: there are no results at all, or a file is damaged.
    """
    data, parts = collect(directory)
    path = directory / FILE
    write_text(path, build(f"{data['name']}: positional and symbolic attention heads", [*GENERAL, *parts], data))
    return path
