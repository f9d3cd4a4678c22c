"""One self-contained HTML document: no network, and no scripts or styles except its own.

The Content-Security-Policy allows each script and style by the hash of its text and nothing else, so injected markup
cannot run. Results are embedded as JSON in a script element of a type that browsers do not execute, escaped so that
they cannot end the element.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from whatwhere.store.documents import plain

DATA_ID = "data"
"""The element that holds the results; scripts read it with ``JSON.parse``."""
_BREAKS_OUT = re.compile(r"</(script|style)|<!--|\r|\0", re.IGNORECASE)
"""Text that would end an element early, or that the parser would change, which would break the hash."""
_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="{data_id}">{data}</script>
{scripts}
</body>
</html>
"""


def assemble(title: str, body: str, style: str, scripts: Sequence[str], data: Mapping[str, Any]) -> str:
    """One HTML document.

    Args:
        title: shown by the browser; any text.
        body: fixed markup. Results belong in ``data``, and scripts show them as text.
        style: the whole style sheet; inline ``style`` attributes are forbidden.
        scripts: run in this order, each in its own element.
        data: what the scripts read from the element ``#data``. NaN and infinity become null.
    """
    for text in (style, *scripts):
        if found := _BREAKS_OUT.search(text):
            raise AssertionError(f"a script or style may not hold {found.group()!r}: it would not reach the browser")
    policy = "; ".join(
        [
            "default-src 'none'",
            "script-src " + (" ".join(map(_hash, scripts)) or "'none'"),
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return _TEMPLATE.format(
        policy=html.escape(policy, quote=False),
        title=html.escape(title),
        style=style,
        body=body,
        data_id=DATA_ID,
        data=embed_json(data),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def embed_json(data: Mapping[str, Any]) -> str:
    """JSON without characters that are special in HTML or end a line of JavaScript."""
    text = json.dumps(plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
