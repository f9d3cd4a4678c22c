"""Files that appear whole or not at all.

The content is written beside its destination under a random name, forced to the disk, and renamed over it. What a
killed process left there is removed by the next write of the same file. Devices and pipes are written to directly: a
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
"""Called with the path of each file that was written or removed here; :mod:`whatwhere.store.mirror` sends copies."""


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
        with suppress(OSError):  # what cannot be removed now is removed by the next write
            beside.unlink()
    for changed in watchers:
        changed(path)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file, whole or not at all."""
    with whole_file(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Writes a text file, whole or not at all; names that are no Unicode (of files, say) are written escaped."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def read_bytes(path: Path, what: str) -> bytes:
    """Reads a file; ``what`` names it in errors ("the run's configuration").

    Raises:
        WhatwhereError: there is no such file, it cannot be read, or it is larger than memory.
    """
    path = Path(path)
    try:
        about = path.stat()
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):  # it may have no end, or never begin
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
    """Makes a rename durable; some systems cannot open a directory, and there the rename itself must do."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_leftovers(path: Path) -> None:
    """Removes what killed processes of this machine left beside a file; those that run are left alone."""
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
    except PermissionError:  # it runs, as another user
        return True
    return True
