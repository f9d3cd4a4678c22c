"""Writes the page of ``whatwhere heads MODEL --text FILE --page out.html``; what it shows is handed over, not computed.

It shares look, controls and safety with the page of a reproduction (:mod:`whatwhere.page`).
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from whatwhere.page import assets
from whatwhere.page.document import assemble
from whatwhere.store.storage import write_text
from whatwhere.studies.language_models.head_map import HeadMap
from whatwhere.studies.language_models.text_attention import TextAttention

_HERE = files("whatwhere.studies.language_models.page")
_SCRIPTS = ("choice.js", "map.js", "list.js", "details.js", "text.js", "page.js")


def write_heads_page(path: Path, found: HeadMap, attention: TextAttention) -> Path:
    """Writes one self-contained HTML file.

    Args:
        path: the file.
        found: the head map.
        attention: where its heads look in the text.

    Returns:
        The file.

    Raises:
        WhatwhereError: it cannot be written.
    """
    name = Path(found.model).name
    page = assemble(
        f"{name}: where its heads look, and at what",
        _read("page.html"),
        assets.style(_read("page.css")),
        assets.scripts([_read(script) for script in _SCRIPTS]),
        page_data(found, attention),
    )
    write_text(path, page)
    return path


def page_data(found: HeadMap, attention: TextAttention) -> dict[str, Any]:
    """What the scripts read."""
    return {
        "name": Path(found.model).name,
        "settings": found.settings(),
        "heads": [_rounded(asdict(row)) for row in found.heads],
        "text": {
            "tokens": attention.tokens,
            "queries": attention.queries,
            "heads": {f"{layer}.{head}": shares for (layer, head), shares in attention.heads.items()},
        },
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers with the digits that anybody reads; the table has the rest."""
    return {
        name: [_digits(share) for share in value] if name == "spectrum" else _digits(value)
        for name, value in row.items()
    }


def _digits(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _read(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")
