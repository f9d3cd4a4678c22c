"""Writes the page of a reproduction."""

from __future__ import annotations

from pathlib import Path

from whatwhere.page import assets
from whatwhere.page.data import collect
from whatwhere.page.document import assemble
from whatwhere.store.storage import write_text

FILE = "report.html"
_SCRIPTS = (
    "tables", "oracle", "closed_forms", "swaps", "story", "claims", "training", "head", "attention", "geometry",
    "sequence", "swap", "discrepancy", "length", "about", "page",
)  # fmt: skip


def write_page(directory: Path) -> Path:
    """Writes ``DIR/report.html`` from what is on disk.

    Args:
        directory: of a reproduction, or of a single run. Parts whose results are missing are left out, and the page
            says which command makes them.

    Returns:
        The file: self-contained, it opens from disk.

    Raises:
        WhatwhereError: there are no results at all, or a file is damaged.
    """
    data = collect(directory)
    own = [assets.read(f"assets/{name}.js") for name in _SCRIPTS]
    page = assemble(
        f"{data['name']}: positional and symbolic attention heads",
        assets.read("assets/page.html"),
        assets.style(assets.read("assets/page.css")),
        assets.scripts(own),
        data,
    )
    path = directory / FILE
    write_text(path, page)
    return path
