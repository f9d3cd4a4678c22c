"""Short jobs for the tests of executors; in a module of their own, so that worker processes can import it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from whatwhere.errors import WhatwhereError

Progress = Callable[[str, int, int], None]


def join(progress: Progress, directory: str, name: str, other: str) -> str:
    """Ends only if the other job is at work at the same time."""
    progress("waiting", 1, 2)
    (Path(directory) / name).write_text(f"{os.getpid()} {os.environ.get('OMP_NUM_THREADS')}")
    until = time.monotonic() + 300  # a loaded machine takes long to start the other
    while not (Path(directory) / other).exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return name


def write(progress: Progress, directory: str, name: str) -> str:
    progress("writing", 0, 1)
    (Path(directory) / name).write_text(name)
    return name


def refuse(progress: Progress) -> None:
    del progress
    raise WhatwhereError("not like this")


def fail(progress: Progress) -> None:
    del progress
    raise ZeroDivisionError


def die(progress: Progress) -> None:
    del progress
    os.kill(os.getpid(), signal.SIGKILL)


def second_time(progress: Progress, directory: str) -> str:
    """Fails once."""
    del progress
    mark = Path(directory) / "tried"
    if not mark.exists():
        mark.write_text("")
        raise WhatwhereError("the first attempt")
    return "done"
