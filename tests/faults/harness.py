"""What the fault suite stands on: commands in this process or in killed ones, a tiny run, and how they read it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from whatwhere.store.documents import read_json
from whatwhere.store.manifest import Manifest
from whatwhere.store.tensors import load_tensors
from whatwhere.tasks import NumberTask
from whatwhere.training.config import Schedule
from whatwhere.training.loop import train
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run

LONG = bool(os.environ.get("WHATWHERE_FAULTS"))
HANGS = 600.0
"""Seconds after which a command hangs for certain, however many others the machine has to run."""
TASK = NumberTask(symbols=2, target=3, context=3, integers=6, max_hops=2)
"""A task with two answers, which any model guesses in half of the cases: every study has something to count."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def is_clear(self) -> bool:
        """Whether it succeeded, or ended with one message and the exit code of a user's mistake."""
        traceback = "Traceback (most recent call last)" in self.out + self.err
        return not traceback and (self.code == 0 or (self.code == 2 and bool(self.err.strip())))


class Zygote:
    """Commands in processes of their own, without the time it takes to start Python and load torch."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self._line() == "ready"

    def run(
        self,
        words: Sequence[str],
        *,
        kill_after: float | None = None,
        meanwhile: Callable[[int], None] | None = None,
        **setting: Any,
    ) -> Ended:
        """Runs a command; a kill is SIGKILL to it and all that it started."""
        out = self.scratch / "output.txt"
        out.unlink(missing_ok=True)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"words": list(words), "out": str(out), **setting}) + "\n")
        self.process.stdin.flush()
        pid = int(self._line())
        if meanwhile is not None:
            meanwhile(pid)
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        code = int(self._line())
        text = out.read_text(errors="replace") if out.exists() else ""
        return Ended(code, "", text)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class TooLong(Exception):
    """A command hangs."""


def command(*words: str, seconds: float = HANGS) -> Ended:
    """Runs a command in this process, as ``whatwhere WORDS`` would, for at most so long."""
    from whatwhere.cli import main

    def stop(*_: object) -> None:
        raise TooLong(f"whatwhere {' '.join(words)}")

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["whatwhere", *words]
    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("default")  # as outside tests, where a warning is no error
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        sys.argv = before
    return Ended(code, out.getvalue(), err.getvalue())


def make_run(directory: Path, seed: int = 0) -> Run:
    """A run of a tiny model on the tiny task, to its end."""
    base = smoke(TASK)
    config = replace(
        base,
        seed=seed,
        model=replace(base.model, d_model=16, d_mlp=16, init_std=0.3),
        schedule=Schedule(peak=1e-3, warmup=2, steps=10, hold=6),
        dataset_size=400,
        spacing=4,
        threads=1,
    )
    run = Run(directory)
    run.create(config)
    train(run)
    return run


READERS: dict[str, tuple[str, ...]] = {
    "train": ("train", "number", "--out", "RUN", "--resume", "--json"),
    "dynamics": ("dynamics", "RUN", "--inputs", "16", "--readings", "2", "--json"),
    "heads": ("heads", "RUN", "--inputs", "16", "--json"),
    "mechanism": ("mechanism", "RUN", "--inputs", "40", "--examples", "1", "--json"),
    "geometry": ("geometry", "RUN", "--inputs", "16", "--json"),
    "length": ("length", "RUN", "--inputs", "16", "--lengths", "9", "--varied-lengths", "9", "--json"),
}
"""Commands that read a finished run; each finds its results there and only prints them."""


def reader(name: str, run: Path) -> tuple[str, ...]:
    """The words of a command for this run."""
    return tuple(str(run) if word == "RUN" else word for word in READERS[name])


def analyse(run: Path) -> None:
    """Runs all commands once, so that their results are on disk."""
    with no_figures():
        for name in READERS:
            ended = command(*reader(name, run))
            assert ended.code == 0, ended.err


@contextlib.contextmanager
def no_figures() -> Iterator[None]:
    """Leaves figures and pages out: drawing takes longer than all else, and reads nothing that the commands do not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whatwhere.studies.measuring.draw", lambda *_, **__: [])
        patch.setattr("whatwhere.page.write_page", lambda directory, *_: directory / "report.html")
        yield


def copy(tree: Path, to: Path) -> Path:
    """A fresh copy of a tree."""
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(tree, to))


_OF_THE_CLOCK = {"seconds", "environment", "elapsed", "checksum", "files", "writing"}
"""Times, and checksums of files that hold some."""


def contents(directory: Path) -> dict[str, object]:
    """What every result says, but for times, by the name of its file; reading it also proves that it is whole."""
    for manifest in directory.rglob("manifest.json"):
        about = Manifest(manifest.parent)
        for name in about.record.files:
            about.get(name, "a file")
    return {
        path.relative_to(directory).as_posix(): _content(path)
        for path in sorted(directory.rglob("*"))
        if path.suffix in (".json", ".csv", ".safetensors")
        and path.name != "timing.csv"
        and path.parent.name not in ("resume", "figures")  # tables beside figures name the place
    }


def _content(path: Path) -> object:
    if path.suffix == ".safetensors":
        arrays, notes = load_tensors(path, "a file")
        return {name: array.tobytes() for name, array in arrays.items()}, notes
    if path.suffix == ".json":
        return _without_times(read_json(path, "a file"))
    return pd.read_csv(path).drop(columns="seconds", errors="ignore").to_csv()


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _OF_THE_CLOCK}
    return [_without_times(item) for item in value] if isinstance(value, list) else value
