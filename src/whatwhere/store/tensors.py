"""Arrays as safetensors with a checksum of their content: weights, states of a run, data sets. Never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.store.files import write_bytes

_CHECKSUM = "whatwhere.sha256"
_FORMAT = "whatwhere.format"
_NEWEST = 1
"""The format of the metadata; it increases when an older whatwhere would misread a file."""


def save_tensors(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Writes arrays as safetensors with a checksum of their names, dtypes, shapes and bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    notes = dict(metadata or {})
    notes[_FORMAT] = str(_NEWEST)
    notes[_CHECKSUM] = _checksum(arrays, notes)
    content = save(arrays, metadata=notes)
    write_bytes(path, content)


def load_tensors(path: Path, what: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reads arrays and their metadata, and verifies their checksum.

    Raises:
        WhatwhereError: there is no such file, it is not safetensors, or it was changed since it was written.
    """
    path = Path(path)
    if not path.is_file():
        raise WhatwhereError(f"expected {what} at {path}, got no such file.")
    memory.require(path.stat().st_size, f"{what} at {path}")
    try:
        with safe_open(path, framework="numpy") as opened:
            notes = dict(opened.metadata() or {})
            _check_format(notes.get(_FORMAT, "1"), f"{what} at {path}")
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    except WhatwhereError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:  # also dtypes that numpy lacks
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


def _check_format(found: str, what: str) -> None:
    if not found.isdecimal() or int(found[:9]) > _NEWEST:
        raise WhatwhereError(
            f"{what}: expected a format up to {_NEWEST}, got {found:.20}. It was written by a newer whatwhere: update "
            "this one."
        )
