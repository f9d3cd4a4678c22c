"""Places that fail: full, read-only, forbidden, removed, taken; and file times that mean nothing."""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import TASK, Ended, Zygote, command, contents, copy, make_run, no_figures, reader

from whatwhere.store.locks import hold
from whatwhere.training.run import Run

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting and dropping privileges need root; runs in containers")
LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT = 1, 32


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if LIBC.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=300k") != 0:
        pytest.skip(f"mounting is not allowed here: {os.strerror(ctypes.get_errno())}")
    yield place
    LIBC.umount2(os.fsencode(place), 2)


@as_root
@pytest.mark.slow
def test_a_full_disk_ends_with_a_message_and_after_it_the_run_goes_on(small_disk: Path, zygote: Zygote, tmp_path: Path):
    filler = small_disk / "filler"
    words = ("train", "number", "--out", str(small_disk / "run"), "--preset", "smoke", "--threads", "1", "--heads", "2")
    ended = zygote.run(words)
    assert ended.is_clear and ended.code == 2, ended.err
    assert "No space left on device" in ended.err
    assert "What was there before is whole" in ended.err
    contents(small_disk / "run")  # every file that is there is whole
    assert not list(small_disk.rglob("*.partial"))
    assert not filler.exists()
    moved = copy(small_disk / "run", tmp_path / "run")
    assert zygote.run(("train", "number", "--out", str(moved), "--resume")).code == 0
    calm = tmp_path / "calm"
    assert zygote.run((*words[:3], str(calm), *words[4:])).code == 0
    assert contents(moved) == contents(calm)


@as_root
@pytest.mark.slow
def test_a_disk_that_turns_read_only_ends_with_a_message(
    small_disk: Path, finished: Path, zygote: Zygote, tmp_path: Path
):
    run = copy(finished / "checkpoints", small_disk / "run" / "checkpoints").parent
    for name in ("config.json", "manifest.json", "metrics.csv", "test.csv"):
        shutil.copy(finished / name, run)
    assert LIBC.mount(b"tmpfs", os.fsencode(small_disk), b"tmpfs", MS_REMOUNT | MS_RDONLY, b"") == 0
    for words in (
        ("dynamics", str(run)),
        ("train", "number", "--out", str(run), "--resume"),
        ("train", "number", "--out", str(run.parent / "new"), "--preset", "smoke"),
        ("geometry", str(run), "--inputs", "16"),
        ("data", "letter", "--out", str(run.parent / "data"), "--size", "800"),
        ("heads", str(run), "--inputs", "16", "--out", str(run.parent / "results")),
        ("reproduce", "--out", str(run.parent), "--preset", "smoke", "--workers", "1"),
    ):
        ended = zygote.run(words)
        assert ended.is_clear and ended.code == 2, (words, ended.err)
        assert "Read-only file system" in ended.err
    assert zygote.run(("heads", str(run), "--inputs", "16", "--out", str(tmp_path / "results"))).code == 0  # it reads


@as_root
@pytest.mark.slow
def test_who_may_not_read_or_write_is_told_so(finished: Path, zygote: Zygote, tmp_path: Path):
    run = copy(finished, tmp_path / "run")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    for place in (run, run / "dynamics"):
        place.chmod(0o500)
    for words in (
        ("dynamics", str(run), "--inputs", "20", "--force"),
        ("train", "number", "--out", str(locked / "new")),
    ):
        ended = zygote.run(words, powerless=True)
        assert ended.is_clear and ended.code == 2 and "Permission denied" in ended.err, (words, ended.err)
    for place in (run, run / "dynamics"):
        place.chmod(0o700)
    for secret in ("config.json", "dynamics/scores.csv", "manifest.json"):
        mode = (run / secret).stat().st_mode
        (run / secret).chmod(0)
        ended = zygote.run(reader("dynamics", run), powerless=True)
        assert ended.is_clear and ended.code == 2, (secret, ended.err)
        (run / secret).chmod(mode)


@pytest.mark.parametrize("name", ["train", "dynamics", "geometry"])
@pytest.mark.slow
def test_a_directory_removed_while_running_ends_with_a_message_and_does_not_come_back(
    name: str, finished: Path, zygote: Zygote, tmp_path: Path
):
    run = copy(finished, tmp_path / "run")
    for result in ("dynamics", "geometry", "resume", "metrics.csv"):
        shutil.rmtree(run / result) if (run / result).is_dir() else (run / result).unlink()

    begun = run / ("metrics.csv" if name == "train" else name)

    def remove(pid: int) -> None:
        while not begun.exists() and Path(f"/proc/{pid}").exists():
            time.sleep(0.001)
        os.kill(pid, signal.SIGSTOP)  # so that it cannot end meanwhile, on a quick machine
        shutil.rmtree(run.rename(tmp_path / "away"))  # at once: no file can come between
        os.kill(pid, signal.SIGCONT)

    words = [word if word != "16" else "2000" for word in reader(name, run)]
    ended = zygote.run(words, meanwhile=remove)
    assert ended.is_clear and ended.code == 2, ended.err
    assert not (run / "config.json").exists()
    assert not list(run.rglob("*.csv"))


@pytest.mark.slow
def test_results_do_not_depend_on_file_times(finished: Path, zygote: Zygote, tmp_path: Path):
    run = copy(finished, tmp_path / "run")
    for result in ("dynamics/scores.csv", "geometry/gating.csv"):
        (run / result).unlink()
    for number, path in enumerate(sorted(run.rglob("*"))):
        os.utime(path, (number * 1e6, (-1) ** number * number * 1e6 + 1e9))
    for name in ("dynamics", "geometry", "train"):
        assert zygote.run(reader(name, run)).code == 0
    assert contents(run) == contents(finished)


@pytest.mark.slow
def test_results_do_not_depend_on_a_clock_that_jumps(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both clocks that training and studies read jump hours ahead and back, at each look."""
    jumps, asked, run = itertools.cycle([0.0, 7200.0, -3600.0, -3600.0]), Counter[str](), tmp_path / "run"

    def clock(name: str) -> Callable[[], float]:
        true = getattr(time, name)

        def read() -> float:
            asked[name] += 1
            return true() + next(jumps)

        return read

    with monkeypatch.context() as patch, no_figures():
        for name in ("perf_counter", "monotonic"):
            patch.setattr(time, name, clock(name))
        make_run(run)
        for name in ("train", "dynamics"):
            assert command(*reader(name, run)).code == 0
    assert asked["perf_counter"] > 10 and asked["monotonic"] > 0  # something reads them
    found, expected = contents(run), contents(finished)
    assert found == {name: expected[name] for name in found}


@pytest.mark.parametrize("name", ["train", "dynamics"])
@pytest.mark.slow
def test_a_second_process_on_the_same_run_is_refused_and_the_first_not_harmed(
    name: str, finished: Path, zygote: Zygote, tmp_path: Path
):
    run = copy(finished, tmp_path / "run")
    with hold(run if name == "train" else run / name, name):  # this process is the first
        ended = zygote.run(reader(name, run))
        assert ended.code == 2 and ended.is_clear, ended.err
        assert f"is in use: process {os.getpid()} on" in ended.err
    assert zygote.run(reader(name, run)).code == 0
    assert contents(run) == contents(finished)


def test_a_run_that_two_processes_begin_belongs_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The other comes between the look at the directory and the taking of it."""
    from whatwhere.errors import WhatwhereError
    from whatwhere.store import locks
    from whatwhere.training.presets import smoke

    run, hold = Run(tmp_path / "run"), locks.hold

    def slow(directory: Path, work: str):
        directory.mkdir()
        (directory / "config.json").write_text("{}")
        return hold(directory, work)

    monkeypatch.setattr(locks, "hold", slow)
    with pytest.raises(WhatwhereError, match="was taken by another process a moment ago"):
        run.create(smoke(TASK))


def test_a_moved_run_keeps_its_results(finished: Path, tmp_path: Path, record_property: Callable[[str, object], None]):
    run = copy(finished, tmp_path / "elsewhere" / "run")
    written = {path: path.stat().st_mtime_ns for path in run.rglob("*.csv")}
    with no_figures():
        for name in ("mechanism", "geometry", "length", "dynamics"):
            ended = command(*reader(name, run))
            assert ended.code == 0, ended.err
    assert {path: path.stat().st_mtime_ns for path in written} == written
    record_property(
        "figure", "full, read-only, forbidden and removed places, file times, a second process: as promised"
    )


def test_a_damaged_last_model_is_replaced_by_what_is_left(finished: Path, tmp_path: Path):
    run = copy(finished, tmp_path / "run")
    shutil.rmtree(run / "heads")

    def heads(out: str) -> Ended:
        with no_figures():
            return command(*reader("heads", run), "--out", str(tmp_path / out))

    whole = heads("whole")
    last = max((run / "checkpoints").iterdir())
    last.write_bytes(last.read_bytes()[:-5])
    ended = heads("state")
    assert ended.code == 0 and ended.out == whole.out.replace("/whole/", "/state/")
    assert "has the same model" in ended.err
    shutil.rmtree(run / "resume")
    ended = heads("earlier")
    assert ended.code == 0 and "Taking the model of step" in ended.err
    for checkpoint in (run / "checkpoints").iterdir():
        checkpoint.write_bytes(b"")
    ended = heads("none")
    assert ended.code == 2 and "not a whole safetensors file" in ended.err
