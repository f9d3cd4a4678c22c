"""Output of the commands: results on stdout, everything else (progress, notes, errors) on stderr.

So ``whatwhere ... --json > file`` contains only the result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from whatwhere.store.documents import plain
from whatwhere.studies.progress_bar import Bar, Guarded, err, note
from whatwhere.studies.terminal import table

__all__ = ["INTERRUPTED", "Bar", "complain", "err", "note", "out", "print_json", "remark", "table"]

INTERRUPTED = 130
"""The exit code of a command that was stopped."""
out = Guarded(highlight=False)


def complain(message: str) -> None:
    """Prints an error; the message is escaped, so that names in it cannot control the terminal."""
    err.print(f"[bold red]whatwhere:[/bold red] {escape(message)}", soft_wrap=True)


def print_json(result: Mapping[str, Any]) -> None:
    """Prints one JSON object on stdout; undefined numbers become null, as JSON has no NaN."""
    ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    text = json.dumps(plain(result), indent=2, ensure_ascii=ascii_only, allow_nan=False)
    print("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def remark(text: str) -> None:
    """Prints an explanation below a result."""
    out.print(text, style="dim", markup=False)
