"""Locks of directories; a lock is released when its process ends, even if it is killed."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from whatwhere.errors import WhatwhereError

SUFFIX = ".lock"
PATIENCE = 2.0
"""Seconds to wait for a lock: the children of a killed process may take a moment to end."""


@contextmanager
def hold(directory: Path, work: str) -> Iterator[None]:
    """Locks a directory for one kind of work; creates it if necessary, and removes it again if it stays empty.

    Args:
        directory: the directory to lock.
        work: the kind of work; different kinds do not exclude each other (a run may be scored while it trains).

    Raises:
        WhatwhereError: another process holds it, or the directory cannot be written to.
    """
    path = Path(directory) / f".{work}{SUFFIX}"
    holder = path.with_suffix(".holder")
    lock = FileLock(path, timeout=PATIENCE)
    made: list[Path] = []
    try:
        made += [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise WhatwhereError(
            f"{directory} is in use: {_name(holder)} is at work there ({work}). "
            "Wait for it to end or stop it, or choose another directory."
        ) from error
    except OSError as error:
        raise WhatwhereError(
            f"could not write to {directory}: {error.strerror or error}. Choose a place that can be written to."
        ) from error
    try:
        with suppress(OSError):  # only used in the message
            holder.write_text(json.dumps([os.getpid(), socket.gethostname(), " ".join(sys.argv)]))
        yield
    finally:
        with suppress(OSError):  # the directory may be gone, or another process may use it
            holder.unlink()
            if made and [*path.parent.iterdir()] == [path]:
                path.unlink()
                for folder in made:
                    folder.rmdir()
        lock.release()


def _name(holder: Path) -> str:
    try:
        process, machine, command = json.loads(holder.read_text())
        return f"process {int(process)} on {machine} ({command!s:.200})"
    except (OSError, ValueError, TypeError):  # not written yet
        return "another process"
