"""Atomic file writes.

The content is written to a temporary file in the same directory, synced to disk, and renamed over the destination. The
next write of the same file removes temporary files of killed processes. Devices and pipes are written to directly: a
rename would replace them.
"""

from __future__ import annotations

import glob
import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory

TEMPORARY_SUFFIX = ".partial"
watchers: list[Callable[[Path], None]] = []
"""Callbacks that get the path of each file written or removed here; :mod:`whatwhere.store.mirror` uploads them."""


def cache_directory(subject: str) -> Path:
    """A cache directory: ``whatwhere/SUBJECT`` below ``$XDG_CACHE_HOME``, or below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whatwhere" / subject


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path; on a clean exit it replaces ``path``, otherwise ``path`` stays unchanged.

    Raises:
        WhatwhereError: the disk is full, or the directory is read-only or gone; an earlier file stays unchanged.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe
        yield path
        return
    beside = path.with_name(
        f"{path.name}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
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
        with suppress(OSError):  # otherwise the next write removes it
            beside.unlink()
    for changed in watchers:
        changed(path)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    with whole_file(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically; what UTF-8 cannot encode (some file names) is escaped."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def read_bytes(path: Path, what: str) -> bytes:
    """Reads a file; ``what`` names it in errors ("the run's configuration").

    Raises:
        WhatwhereError: there is no such file, it cannot be read, or it is larger than memory.
    """
    path = Path(path)
    try:
        about = path.stat()
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):  # reading could block or never end
            raise WhatwhereError(f"expected {what} at {path}, got a device or a pipe; name a file.")
        memory.require(about.st_size, f"{what} at {path}")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise WhatwhereError(f"expected {what} at {path}, got no such file.") from error
    except OSError as error:
        raise WhatwhereError(f"{what} at {path} cannot be read: {error.strerror or error}.") from error


def read_text(path: Path, what: str) -> str:
    """Reads a text file in UTF-8."""
    try:
        return read_bytes(path, what).decode("utf-8")
    except UnicodeDecodeError as error:
        raise WhatwhereError(f"{what} at {path} is not text in UTF-8: {error}.") from error


def remove_file(path: Path) -> None:
    """Removes a file, if it is there.

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
    """Makes a rename durable, on systems that can open a directory."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_leftovers(path: Path) -> None:
    """Removes temporary files that dead processes of this machine left."""
    ours = f"{glob.escape(path.name)}.{glob.escape(socket.gethostname())}.*{TEMPORARY_SUFFIX}"
    for partial in path.parent.glob(ours):
        pid = partial.name.removesuffix(TEMPORARY_SUFFIX).split(".")[-2]
        if pid.isdigit() and not _runs(int(pid)):
            with suppress(OSError):
                partial.unlink()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs as another user
        pass
    return True
