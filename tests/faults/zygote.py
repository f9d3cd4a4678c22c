"""A process that has everything loaded and forks a child for each command: kills then hit work, not imports.

Reads one JSON object per line, ``{"words": [...], "out": FILE, ...}``, and answers with two lines: the pid, and later
the exit code (negative: the signal). The child leads a process group of its own.
"""

import ctypes
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import traceback
from pathlib import Path

import pandas  # noqa: F401 (loaded once, for all children)
import scipy.stats  # noqa: F401
import torch._dynamo  # noqa: F401 (the first optimiser loads it, and it takes longer than a short training)

import whatwhere.page
import whatwhere.studies.measuring
import whatwhere.training.loop
import whatwhere.work.processes
import whatwhere.work.reproduction
import whatwhere.work.sweep_run
from whatwhere.cli import main
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.study import resolve

for name in STUDIES:
    resolve(study_named(name).measure)


def drop_powers() -> None:
    """Lets the modes of files count for root, too: drops CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits
    assert libc.capget(header, sets) == 0
    for place in (0, 1):
        sets[place] &= ~0b110
    assert libc.capset(header, sets) == 0


def die_at_rename(number: int, *, after: bool) -> None:
    """SIGKILL to this process at its n-th rename, just before or just after it."""
    replace, count = Path.replace, 0

    def replace_or_die(path: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count < number:
            return replace(path, target)
        if after:
            replace(path, target)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("dead")

    Path.replace = replace_or_die  # pyright: ignore[reportAttributeAccessIssue]


def child(request: dict) -> None:
    """Runs one command and ends."""
    os.setpgid(0, 0)
    opened = os.open(request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    for limit, most in request.get("limits", {}).items():
        resource.setrlimit(getattr(resource, limit), (most, most))
    if request.get("powerless"):
        drop_powers()
    if request.get("rename"):
        die_at_rename(*request["rename"][:1], after=request["rename"][1])
    if not request.get("figures"):  # drawing takes longer than all else, but for loading everything again in a worker
        whatwhere.work.processes._CONTEXT = multiprocessing.get_context("fork")
        whatwhere.studies.measuring.draw = lambda *_, **__: []
        whatwhere.page.write_page = lambda directory, *_: directory / "report.html"
    sys.argv = ["whatwhere", *request["words"]]
    code = 70
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    os.sched_setaffinity(0, [random.choice(list(os.sched_getaffinity(0)))])  # threads that wait for others cost time
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(json.loads(line))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
