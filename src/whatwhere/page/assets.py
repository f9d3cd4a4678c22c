"""The scripts and styles of the pages, read from this package.

    vendor/          d3 and Observable Plot, as published
    assets/common/   what every page of ours shares: colours, controls, charts, the layer-by-head map
    assets/          the page of a reproduction

Scripts are plain files that add their part to one object, ``whatwhere``; the order is that of the lists here.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

_HERE = files("whatwhere.page")
VENDOR = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
COMMON_SCRIPTS = tuple(
    f"assets/common/{name}.js" for name in ("start", "dom", "theme", "controls", "table", "chart", "headmap")
)
COMMON_STYLE = "assets/common/common.css"


def read(name: str) -> str:
    """The text of a file below this package."""
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def scripts(own: Sequence[str]) -> list[str]:
    """The vendored libraries, the common scripts, then a page's ``own`` (already read)."""
    return [*(read(name) for name in (*VENDOR, *COMMON_SCRIPTS)), *own]


def style(own: str = "") -> str:
    """The common style sheet, then a page's own."""
    return read(COMMON_STYLE) + own
