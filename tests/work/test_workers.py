"""Stages in processes of their own: toy stages that write down what they see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.mechanism.observation import Progress
from whatwhere.work.stage import Event, Stage
from whatwhere.work.stages import Work
from whatwhere.work.workers import Workers

pytestmark = pytest.mark.slow  # each worker imports torch


def toys(kind: str = "well") -> list[Stage]:
    """Two stages that meet, and one that needs both."""

    def meet(name: str, other: str, directory: Path, progress: Progress) -> None:
        progress("meeting", 1, 2)
        if kind == "refused" and name == "meet-a":
            raise WhatwhereError("not like this")
        if kind == "broken" and name == "meet-a":
            raise ZeroDivisionError
        if kind == "killed" and name == "meet-a":
            os.kill(os.getpid(), signal.SIGKILL)
        (directory / f"{name}.txt").write_text(f"{os.getpid()} {os.environ['OMP_NUM_THREADS']}")
        until = time.monotonic() + 60
        awaited = "nobody" if kind == "endless" else other
        while not (directory / f"{awaited}.txt").exists():  # ends only if both are at work at the same time
            assert time.monotonic() < until
            time.sleep(0.01)

    def join(directory: Path, _: Progress) -> None:
        seen = sorted(path.name for path in directory.glob("meet-*.txt"))
        (directory / "joined.txt").write_text(" ".join(seen))

    return [
        Stage("meet-a", "a", (), ("meet-a.txt",), {}, partial(meet, "meet-a", "meet-b")),
        Stage("meet-b", "b", (), ("meet-b.txt",), {}, partial(meet, "meet-b", "meet-a")),
        Stage("join", "joined", ("meet-a", "meet-b"), ("joined.txt",), {}, join),
    ]


def go(directory: Path, kind: str = "well") -> tuple[list[tuple[str, Event]], list[tuple[str, str, int, int]]]:
    directory.mkdir(exist_ok=True)
    work, events, said = Work(toys(kind), directory), [], []
    with Workers(partial(toys, kind), directory, 2, 1, lambda *words: said.append(words)) as crew:
        work.run(work.choose([]), lambda stage, event: events.append((stage.name, event)), crew)
    return events, said


def test_stages_that_wait_for_nothing_are_done_side_by_side_and_the_rest_after_them(tmp_path: Path) -> None:
    events, said = go(tmp_path)
    assert events[:2] == [("meet-a", "begun"), ("meet-b", "begun")]
    assert events[-2:] == [("join", "begun"), ("join", "done")]
    assert {words[0] for words in said} == {"meet-a", "meet-b"}
    assert said[0][1:] == ("meeting", 1, 2)
    assert (tmp_path / "joined.txt").read_text() == "meet-a.txt meet-b.txt"
    (first, threads), (second, _) = ((tmp_path / f"meet-{name}.txt").read_text().split() for name in "ab")
    assert len({first, second, str(os.getpid())}) == 3
    assert threads == "1"
    work = Work(toys(), tmp_path)
    seconds = [record.seconds for stage in toys() if (record := work.record(stage))]
    assert 0 < work.elapsed < sum(seconds)
    assert {event for _, event in go(tmp_path)[0]} == {"kept"}


@pytest.mark.parametrize(
    ("kind", "error", "match"),
    [
        ("refused", WhatwhereError, "not like this"),
        ("broken", RuntimeError, "the stage meet-a failed:\n.*ZeroDivisionError"),
        ("killed", WhatwhereError, "process that did the stage meet-a ended without a word"),
    ],
)
def test_what_ends_one_stage_ends_all_and_the_same_call_goes_on(
    tmp_path: Path, kind: str, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=f"(?s){match}"):
        go(tmp_path, kind)
    assert not (tmp_path / "joined.txt").exists()
    go(tmp_path)
    assert (tmp_path / "joined.txt").exists()


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "toys.py").write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\nfrom functools import partial\nimport test_workers\n"
        "if __name__ == '__main__':\n    test_workers.go(Path(sys.argv[1]), 'endless')\n"
    )
    directory = tmp_path / "work"
    parent = subprocess.Popen([sys.executable, tmp_path / "toys.py", directory])
    try:
        until = time.monotonic() + 60
        seen = directory / "meet-a.txt"
        while not (seen.exists() and seen.read_text()):
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    worker = int(seen.read_text().split()[0])
    while _lives(worker):
        assert time.monotonic() < until
        time.sleep(0.05)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
