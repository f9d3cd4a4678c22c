"""What summaries are made of: narrow tables, and remarks below them."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text


def table(*columns: str, left: Sequence[str] = (), title: str = "") -> Table:
    """A narrow table: numbers stand to the right, the columns named in ``left`` to the left."""
    made = Table(
        title=escape(title) or None, title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=0,
        pad_edge=False, show_edge=False,
    )  # fmt: skip
    for name in columns:
        made.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    return made


def remark(text: str) -> Text:
    """An explanation below a table."""
    return Text(text, style="dim")
