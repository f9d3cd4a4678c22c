"""Files that appear whole or not at all.

The content is written beside its destination, forced to the disk, and renamed over it. What a killed process left there
is swept up by the next write of the same file.
"""

from __future__ import annotations

import glob
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whatwhere.errors import WhatwhereError

TEMPORARY_SUFFIX = ".partial"
watchers: list[Callable[[Path], None]] = []
"""Called with the path of each file that was written or removed here; :mod:`whatwhere.store.addresses` keeps copies in step."""


def cache_directory(subject: str) -> Path:
    """Where what can be made again is kept: ``whatwhere/SUBJECT`` below ``$XDG_CACHE_HOME``, or below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whatwhere" / subject


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a path to write to; on a clean exit it becomes ``path``, otherwise ``path`` is left as it was.

    Raises:
        WhatwhereError: the disk is full, the place is read-only or gone; the earlier file, if any, is untouched.
    """
    path = Path(path)
    beside = path.with_name(f"{path.name}.{socket.gethostname()}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
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
        with suppress(OSError):  # what cannot be removed now is swept up by the next write
            beside.unlink()
    for changed in watchers:
        changed(path)


def remove_file(path: Path) -> None:
    """Removes a file, if it is there, and says so to the watchers.

    Raises:
        WhatwhereError: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise WhatwhereError(f"could not remove {path}: {error.strerror or error}.") from error
    for changed in watchers:
        changed(path)


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


def _sweep(path: Path) -> None:
    """Removes what killed processes of this machine left beside a file; those that run are left alone."""
    ours = f"{glob.escape(path.name)}.{glob.escape(socket.gethostname())}.*{TEMPORARY_SUFFIX}"
    for partial in path.parent.glob(ours):
        pid = partial.name.removesuffix(TEMPORARY_SUFFIX).rpartition(".")[2]
        if pid.isdigit() and not _runs(int(pid)):
            with suppress(OSError):
                partial.unlink()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs, as another user
        return True
    return True
