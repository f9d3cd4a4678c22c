"""Files that appear whole or not at all, and that say so when they were damaged.

Everything this package writes goes through :func:`whole_file`, so that a crash leaves either the old file or the new
one. Weights and data are safetensors with a checksum of their content, tables are tidy CSV, the rest is JSON; these two
carry a seal (:mod:`whatwhere.store.seal`), tables in a last column and JSON under a last key. Nothing is ever unpickled.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.store import seal
from whatwhere.store.files import remove_file, watchers, whole_file

__all__ = [
    "load_tensors",
    "read_csv",
    "read_json",
    "read_text",
    "remove_file",
    "save_tensors",
    "watchers",
    "whole_file",
    "write_csv",
    "write_json",
    "write_text",
]

_CHECKSUM = "whatwhere.sha256"
_FORMAT = "whatwhere.format"
_SEAL = "seal"


def write_text(path: Path, text: str) -> None:
    """Writes a text file, whole or not at all; names that are no Unicode (of files, say) are written escaped."""
    with whole_file(path) as beside:
        beside.write_bytes(text.encode("utf-8", "backslashreplace"))


def read_text(path: Path, what: str) -> str:
    """Reads a text file; ``what`` names it in errors ("the run's configuration")."""
    path = Path(path)
    try:
        memory.require(path.stat().st_size, f"{what} at {path}")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise WhatwhereError(f"{what} was expected at {path}, and there is no such file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise WhatwhereError(f"{what} at {path} cannot be read: {error}.") from error


def write_json(path: Path, content: Mapping[str, Any], owner: str = "") -> None:
    """Writes a sealed JSON object for people to read, whole or not at all.

    Args:
        path: the file.
        content: the object.
        owner: what it belongs to (:func:`whatwhere.store.seal.owner`), if anything.
    """
    plain = {key: value for key, value in content.items() if key != _SEAL}
    sealed = {**plain, _SEAL: seal.make(_digest(plain), owner)}
    write_text(path, json.dumps(sealed, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path, what: str, owner: str = "") -> dict[str, Any]:
    """Reads a JSON object; one without a seal was written by hand, and is taken as it is.

    Raises:
        WhatwhereError: there is no such file, it is not JSON or not an object, or its seal is broken.
    """
    text = read_text(path, what)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WhatwhereError(
            f"{what} at {path} is not valid JSON ({error}); it may be damaged. Restore it, or make it anew."
        ) from error
    if not isinstance(content, dict):
        raise WhatwhereError(f"{what} at {path} should hold a JSON object, and it holds a {type(content).__name__}.")
    if _SEAL in content:
        found = content.pop(_SEAL)
        seal.check(found, _digest(content), f"{what} at {path}", f"the key {_SEAL!r}", owner)
    return content


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]], owner: str = "") -> None:
    """Writes a tidy table: one header line, one line per observation, NaN as an empty cell, and the seal last.

    Every line ends with the same seal, so that the table stays plain CSV and a lost line is noticed too. A table
    without lines has none.

    Args:
        path: the file.
        columns: their names.
        rows: the cells.
        owner: what it belongs to (:func:`whatwhere.store.seal.owner`), if anything.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    if any(len(row) != len(columns) for row in cells):
        raise AssertionError(f"a row that has not the {len(columns)} cells of its table")
    sealed = [seal.make(_digest([list(columns), cells]), owner)] if cells else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, *[_SEAL] * len(sealed)])
    writer.writerows([*row, *sealed] for row in cells)
    write_text(path, out.getvalue())


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.10g}"
    return "" if value is None else str(value)


def read_csv(path: Path, what: str, columns: Sequence[str], owner: str = "") -> list[dict[str, str]]:
    """Reads a table that has at least ``columns``; cells are text, an undefined number is an empty cell.

    A table without a seal was written by hand, and is taken as it is.

    Raises:
        WhatwhereError: a column is missing, a line has another number of cells than the header, or a seal is broken.
    """
    text = read_text(path, what)
    try:
        header, *lines = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    except csv.Error as error:
        raise WhatwhereError(f"{what} at {path} is damaged: {error}.") from error
    missing = [name for name in columns if name not in header]
    if missing:
        raise WhatwhereError(
            f"{what} at {path} should have the columns {', '.join(columns)}, and it lacks {', '.join(missing)}."
        )
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise WhatwhereError(
                f"{what} at {path} is damaged: line {number} has not the {len(header)} cells of its header."
            )
    if header[-1] == _SEAL:
        header, seals = header[:-1], {line.pop() for line in lines}
        found = seals.pop() if len(seals) == 1 else None
        seal.check(found, _digest([header, lines]), f"{what} at {path}", f"the column {_SEAL!r}", owner)
    if len(set(header)) != len(header):
        raise WhatwhereError(f"{what} at {path} is damaged: two of its columns have the same name.")
    return [dict(zip(header, line, strict=True)) for line in lines]


def _digest(content: object) -> bytes:
    """What a seal is made over: JSON, as Python reads it back."""
    return json.dumps(content).encode()


def save_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Writes arrays as safetensors with a checksum of their names, kinds, shapes and bytes."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    notes = dict(metadata or {})
    notes[_FORMAT] = str(seal.FORMAT)
    notes[_CHECKSUM] = _checksum(arrays, notes)
    content = save(arrays, metadata=notes)
    with whole_file(path) as beside:
        beside.write_bytes(content)


def load_tensors(path: Path, what: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reads arrays and their metadata, and checks them against the checksum they were written with.

    Raises:
        WhatwhereError: there is no such file, it is not safetensors, or it was changed since it was written.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise WhatwhereError(f"{what} was expected at {path}, and there is no such file.")
    memory.require(path.stat().st_size, f"{what} at {path}")
    try:
        with safe_open(path, framework="numpy") as opened:
            notes = dict(opened.metadata() or {})
            seal.check_format(notes.get(_FORMAT, "1"), f"{what} at {path}")
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    except WhatwhereError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:  # kinds that numpy does not know, too
        raise WhatwhereError(f"{what} at {path} is not a whole safetensors file: {error}.") from error
    recorded = notes.pop(_CHECKSUM, None)
    if recorded is None:
        raise WhatwhereError(f"{what} at {path} carries no checksum; it was not written by whatwhere.")
    if recorded != _checksum(arrays, notes):
        raise WhatwhereError(f"{what} at {path} is damaged: its content does not match its checksum.")
    notes.pop(_FORMAT, None)
    return arrays, notes


def _checksum(arrays: Mapping[str, np.ndarray], notes: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for key in sorted(notes):
        digest.update(json.dumps([key, notes[key]]).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, str(array.dtype), array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
