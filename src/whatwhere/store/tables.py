"""Tidy tables of one row type each, as plain CSV.

The row type is a dataclass: its fields are the columns, their docstrings the documentation. A field that is itself a
dataclass, such as an estimate with its interval, takes several columns: ``accuracy: Estimate`` is written as
``accuracy``, ``accuracy_low``, ``accuracy_high``, ``accuracy_n``. ``pandas.read_csv(path)`` gives just these columns;
an undefined number is an empty cell.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import Record

if TYPE_CHECKING:
    import pandas as pd

_MAIN = "value"
"""The field of a nested dataclass whose column has the name without a suffix."""
_DTYPES = {int: "int64", float: "float64", bool: "bool", str: "str"}
_WITH_NONE = {int: "Int64", bool: "boolean"}


_hints = cache(get_type_hints)
"""They are read from text, and a table of few rows takes less long."""


def columns(kind: type) -> dict[str, Any]:
    """The columns of a row type with their types; optional ones are given as ``T | None``."""
    return {name: hint for name, hint, _ in _columns(kind)}


def _columns(kind: type, prefix: str = "", path: str = "") -> Iterator[tuple[str, Any, str]]:
    """Name, type and attribute path in a row (``accuracy.low``) of each column."""
    hints = _hints(kind)
    for field in fields(kind):
        name = prefix[:-1] if prefix and field.name == _MAIN else prefix + field.name
        hint = hints[field.name]
        if isinstance(hint, type) and is_dataclass(hint):
            yield from _columns(hint, f"{name}_", f"{path}{field.name}.")
        else:
            yield name, hint, path + field.name


def to_frame(kind: type[Record], rows: Sequence[Record]) -> pd.DataFrame:
    """Rows as a DataFrame."""
    import pandas as pd

    found = list(_columns(kind))
    data = {name: [attrgetter(path)(row) for row in rows] for name, _, path in found}
    return pd.DataFrame({name: pd.array(data[name], dtype=_dtype(hint)) for name, hint, _ in found})


def _cells(column: pd.Series, hint: Any) -> list[Any]:
    cells = column.tolist()
    if not _plain(hint)[1]:
        return cells
    return [None if missing else cell for cell, missing in zip(cells, column.isna(), strict=True)]


def from_frame(kind: type[Record], frame: pd.DataFrame, prefix: str = "") -> list[Record]:
    """A DataFrame as rows, the inverse of :func:`to_frame`; a nested dataclass is read from columns with a prefix."""
    hints = _hints(kind)
    found = []
    for field in fields(kind):
        name = prefix[:-1] if prefix and field.name == _MAIN else prefix + field.name
        hint = hints[field.name]
        nested = isinstance(hint, type) and is_dataclass(hint)
        found.append(from_frame(hint, frame, f"{name}_") if nested else _cells(frame.loc[:, name], hint))
    return [kind(*cells) for cells in zip(*found, strict=True)]


def write_csv(frame: pd.DataFrame) -> bytes:
    """A DataFrame as CSV: ten digits, undefined numbers as empty cells."""
    return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode("utf-8", "backslashreplace")


def read_csv(kind: type, content: bytes, what: str) -> pd.DataFrame:
    """Reads CSV with exactly the columns of a row type.

    Raises:
        WhatwhereError: a column is missing or unknown, or a cell is not of its type.
    """
    import pandas as pd

    hints = columns(kind)
    try:
        header = content.decode().partition("\n")[0].rstrip("\r").split(",")
        if header != list(hints):
            raise WhatwhereError(f"{what}: expected the columns {', '.join(hints)}, got {', '.join(header):.200}.")
        return pd.read_csv(
            io.BytesIO(content),
            dtype={name: _dtype(hint) for name, hint in hints.items()},
            keep_default_na=False,
            na_values={name: [""] for name, hint in hints.items() if _plain(hint)[0] is not str or _plain(hint)[1]},
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, WhatwhereError):
            raise
        raise WhatwhereError(f"{what} is damaged: {error!s:.200}. Remove it and measure again.") from error


def _plain(hint: Any) -> tuple[type, bool]:
    """A type without ``None``, and whether it may be None."""
    if get_origin(hint) in (UnionType, Union):
        inner = [one for one in get_args(hint) if one is not NoneType]
        return inner[0], True
    return (hint if hint in _DTYPES else str), False  # literals are text


def _dtype(hint: Any) -> str:
    plain, optional = _plain(hint)
    return (_DTYPES | _WITH_NONE if optional else _DTYPES)[plain]
