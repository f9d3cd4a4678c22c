"""Parts of summaries: narrow tables, remarks, and formatted numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import PurePath

from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from whatwhere.heads.estimate import Estimate

NARROW = 80
"""Columns of the smallest terminal."""
LONGEST_NAME = 24
"""Characters of a model's name beside numbers, which would be cut off otherwise."""
Rows = Iterable[Sequence[str]]
"""The cells of each row."""


def table(*columns: str, rows: Rows = (), left: Sequence[str] = (), title: str = "", caption: str = "") -> Table:
    """A narrow table, right-aligned except for the columns in ``left``.

    A title that fits in a terminal stays on one line, even if it is wider than the columns.
    """
    fits = all(line.isprintable() and len(line) <= NARROW for line in title.split("\n"))  # the console guards the rest
    heading = Text(title, no_wrap=True, overflow="ignore") if fits else escape(title)
    made = Table(
        title=heading if title else None, title_justify="left", title_style="", box=box.SIMPLE_HEAD, padding=0,
        pad_edge=False, show_edge=False, caption=caption or None, caption_justify="left",
    )  # fmt: skip
    for name in columns:
        made.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    for cells in rows:
        made.add_row(*cells)
    return made


def remark(text: str) -> Text:
    """An explanation below a table."""
    return Text(text, style="dim")


def ends(found: Estimate, form: str = ".2f", between: str = "-") -> str:
    """The interval of an estimate: ``0.26-0.41``."""
    return f"{found.low:{form}}{between}{found.high:{form}}"


def spanned(found: Estimate, form: str = ".2f", between: str = "-") -> str:
    """An estimate with its interval: ``0.33 (0.26-0.41)``."""
    return f"{found.value:{form}} ({ends(found, form, between)})"


def number_runs(numbers: Iterable[int], between: str = ", ") -> str:
    """Numbers with runs joined, ``0-4, 6``; ``none`` for nothing."""
    known = sorted(set(numbers))
    starts = [number for number in known if number - 1 not in known]
    lasts = [number for number in known if number + 1 not in known]
    return between.join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, lasts, strict=True)) or "none"


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Names of models without the directories that all have in common, and at most their last characters."""
    paths = {name: PurePath(name).parts for name in models}
    common = list(takewhile(lambda parts: len(set(parts)) == 1, zip(*paths.values(), strict=False)))
    shared = min([len(common), *(len(parts) - 1 for parts in paths.values())])
    found = {name: str(PurePath(*parts[shared:])) for name, parts in paths.items()}
    return {name: f"...{one[3 - LONGEST_NAME :]}" if len(one) > LONGEST_NAME else one for name, one in found.items()}
