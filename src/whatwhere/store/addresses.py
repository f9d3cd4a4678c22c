"""Object storage: ``--out s3://bucket/prefix``, or any other address that fsspec knows (extra ``scale``).

Work happens in a local mirror of the address, below the user's cache directory. Remote files are fetched first. After
that, each file is uploaded as soon as it is complete, and deleted remotely when it is deleted locally, in the same
order. A killed run can therefore continue from the address on any machine. Uploads are atomic: object stores make them
so, and other file systems get a temporary file that is renamed.

Locks are local: two machines must not write to one address at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import watchers
from whatwhere.store.mirror import OBJECT_STORES, Mirror, Note, is_result

__all__ = ["is_stored", "local", "name_of_place", "send_rest", "shown"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: one is a drive of Windows
_mirrors: list[Mirror] = []


def name_of_place(place: str | Path) -> str:
    """A directory with its ``~`` resolved, or an address as it is.

    Raises:
        WhatwhereError: it is no name, or its ``~`` is nobody's.
    """
    if not isinstance(place, str | Path):
        raise WhatwhereError(f"expected a directory, got a {type(place).__name__}: {place!r:.80}.")
    text = str(place)
    if not text or "\0" in text:
        raise WhatwhereError("expected a directory, got an empty name.")
    try:
        return str(Path(text).expanduser()) if text.startswith("~") else text
    except RuntimeError as error:
        raise WhatwhereError(f"expected a directory, got {text!r:.80}: {error}") from error


def local(place: str, note: Note = lambda _: None, only: Sequence[str] = ()) -> str:
    """The local mirror of an address; its files are fetched, and synchronised from now on.

    Args:
        place: an address such as ``s3://bucket/prefix``; anything else (a path, a model's name) is returned unchanged.
        note: callback for messages about transfers.
        only: patterns of the files to fetch; all by default.

    Raises:
        WhatwhereError: the address is unknown, unreachable or forbidden, or the extra is missing.
    """
    if not _URL.match(place):
        return place
    mirror = Mirror.of(place)
    if any(mirror.directory.is_relative_to(known.directory) for known in _mirrors):
        return str(mirror.directory)
    mirror.synchronise(note, only)
    _mirrors.append(mirror)
    if _changed not in watchers:
        watchers.append(_changed)
    return str(mirror.directory)


def shown(path: Path) -> str:
    """A path as the user gave it: the address, if the path is a mirror of one."""
    for mirror in _mirrors:
        if path.is_relative_to(mirror.directory):
            return f"{mirror.url}/{path.relative_to(mirror.directory).as_posix()}".removesuffix("/.")
    return str(path)


def is_stored(place: str) -> bool:
    """Whether a text is an address in object storage."""
    return bool(_URL.match(place)) and place.partition("://")[0].lower() in OBJECT_STORES


def send_rest() -> None:
    """Uploads files that other processes or libraries wrote into a mirror.

    Raises:
        WhatwhereError: a file could not be uploaded; the local copy stays.
    """
    for mirror in _mirrors:
        mirror.send_rest()


def _changed(path: Path) -> None:
    for mirror in _mirrors:
        if path.is_relative_to(mirror.directory) and is_result(path):
            mirror.follow(path)
