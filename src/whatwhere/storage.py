"""Files that appear whole or not at all, and that say so when they were damaged.

Everything this package writes goes through :func:`whole_file`: the content is written beside its destination, forced
to the disk, and renamed over it. A crash leaves either the old file or the new one. Weights and data are safetensors
with a checksum of their content, tables are tidy CSV, the rest is JSON. Nothing is ever unpickled.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError

_CHECKSUM = "whatwhere.sha256"
TEMPORARY_SUFFIX = ".partial"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a path to write to; on a clean exit it becomes ``path``, otherwise ``path`` is left as it was.

    Raises:
        WhatwhereError: the disk is full, the place is read-only or gone; the earlier file, if any, is untouched.
    """
    path = Path(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise WhatwhereError(
            f"could not write {path}: {error.strerror or error}. "
            "What was there before is whole; free some space or choose another place, then run the command again."
        ) from error
    finally:
        with suppress(OSError):  # what cannot be removed now is swept up by the next run
            beside.unlink()


def _sync_directory(directory: Path) -> None:
    """Makes a rename durable; some systems cannot open a directory, and there the rename itself must do."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Writes a text file, whole or not at all."""
    with whole_file(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="")


def read_text(path: Path, what: str) -> str:
    """Reads a text file; ``what`` names it in errors ("the run's configuration")."""
    path = Path(path)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise WhatwhereError(f"{what} was expected at {path}, and there is no such file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise WhatwhereError(f"{what} at {path} cannot be read: {error}.") from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON object for people to read, whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        WhatwhereError: there is no such file, it is not JSON, or it is not an object.
    """
    text = read_text(path, what)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise WhatwhereError(
            f"{what} at {path} is not valid JSON ({error}); it may be damaged. Restore it, or make it anew."
        ) from error
    if not isinstance(content, dict):
        raise WhatwhereError(f"{what} at {path} should hold a JSON object, and it holds a {type(content).__name__}.")
    return content


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Writes a tidy table: one header line, one line per observation, NaN as an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        if len(row) != len(columns):
            raise AssertionError(f"a row of {len(row)} cells in a table of {len(columns)} columns")
        writer.writerow([_cell(value) for value in row])
    write_text(path, out.getvalue())


def _cell(value: object) -> object:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.10g}"
    return value


def read_csv(path: Path, what: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """Reads a table that has at least ``columns``; cells are text, an undefined number is an empty cell.

    Raises:
        WhatwhereError: a column is missing, or a line has another number of cells than the header.
    """
    text = read_text(path, what)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    found = reader.fieldnames or []
    missing = [name for name in columns if name not in found]
    if missing:
        raise WhatwhereError(
            f"{what} at {path} should have the columns {', '.join(columns)}, and it lacks {', '.join(missing)}."
        )
    rows = []
    for number, row in enumerate(reader, start=2):
        if None in row or None in row.values():
            raise WhatwhereError(
                f"{what} at {path} is damaged: line {number} has not the {len(found)} cells of its header."
            )
        rows.append(row)
    return rows


def save_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Writes arrays as safetensors with a checksum of their names, kinds, shapes and bytes."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    notes = dict(metadata or {})
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
    try:
        with safe_open(path, framework="numpy") as opened:
            notes = dict(opened.metadata() or {})
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError) as error:
        raise WhatwhereError(f"{what} at {path} is not a whole safetensors file: {error}.") from error
    recorded = notes.pop(_CHECKSUM, None)
    if recorded is None:
        raise WhatwhereError(f"{what} at {path} carries no checksum; it was not written by whatwhere.")
    if recorded != _checksum(arrays, notes):
        raise WhatwhereError(f"{what} at {path} is damaged: its content does not match its checksum.")
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
