"""One process at a time in a directory, with a lock that a crash does not leave behind.

The lock is the kernel's (``flock`` on an open file), so it ends with the process that holds it, however that ends. The
file says who holds it. Windows has no such locks: there a second process is not refused.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from whatwhere.errors import WhatwhereError

SUFFIX = ".lock"
PATIENCE = 2.0
"""Seconds to wait for a lock: the helpers of a process that was killed may take a moment to end, too."""


@contextmanager
def only_one(directory: Path, what: str) -> Iterator[None]:
    """Holds a directory for one kind of work; it is made if need be.

    Args:
        directory: what is held.
        what: the work; different kinds do not hinder each other (a run may be scored while it trains).

    Raises:
        WhatwhereError: another process holds it, or the directory cannot be written to.
    """
    path = Path(directory) / f".{what}{SUFFIX}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = _acquire(path, what)
    except OSError as error:
        raise WhatwhereError(
            f"could not write to {directory}: {error.strerror or error}. Choose a place that can be written to."
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # the directory may be gone; the lock itself ends with the file
            path.unlink()
        opened.close()


def _acquire(path: Path, what: str) -> TextIO:
    """The open and locked file, with our name in it."""
    until = time.monotonic() + PATIENCE
    while True:
        opened = path.open("a+", encoding="utf-8")
        try:
            _flock(opened)
            # Who held it may have removed the file after we opened it; then what we hold is no longer that file.
            if path.exists() and path.stat().st_ino == os.fstat(opened.fileno()).st_ino:
                opened.truncate(0)
                json.dump({"process": os.getpid(), "machine": socket.gethostname(), "command": sys.argv}, opened)
                opened.flush()
                return opened
        except BlockingIOError as error:
            if time.monotonic() > until:
                opened.seek(0)
                holder = _holder(opened.read())
                opened.close()
                raise WhatwhereError(
                    f"{path.parent} is in use: {holder} is at work there ({what}). "
                    "Wait for it to end or stop it, or choose another directory."
                ) from error
            time.sleep(0.05)
        except BaseException:
            opened.close()
            raise
        opened.close()


def _flock(opened: TextIO) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(text: str) -> str:
    try:
        found = json.loads(text)
        return f"process {int(found['process'])} on {found['machine']} ({' '.join(found['command'])[:200]})"
    except (ValueError, TypeError, KeyError):  # it has only just taken it
        return "another process"
