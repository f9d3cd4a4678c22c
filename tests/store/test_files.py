import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store import files
from whatwhere.store.files import cache_directory, read_bytes, read_text, remove_file, whole_file, write_text


def test_a_file_appears_only_when_writing_succeeded(tmp_path: Path):
    path = tmp_path / "deep" / "file.txt"
    with pytest.raises(RuntimeError), whole_file(path) as beside:
        beside.write_text("half")
        raise RuntimeError
    assert not path.exists()
    assert list(path.parent.iterdir()) == []


def test_a_failed_write_leaves_the_earlier_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WhatwhereError, match=r"No space left on device.*What was there before is whole"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WhatwhereError, match="could not write"):
        write_text(tmp_path / "file" / "inside", "x")


def test_a_file_that_cannot_be_removed_is_named(tmp_path: Path):
    remove_file(tmp_path / "none")
    with pytest.raises(WhatwhereError, match="could not remove"):
        remove_file(tmp_path)


def test_a_failure_at_the_rename_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "file.txt"
    write_text(path, "old")
    written: list[str] = []

    def refuse(self: Path, _target: Path) -> Path:
        written.append(self.read_text())
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(WhatwhereError, match="could not write"):
        write_text(path, "new")
    assert written == ["new"], "the whole content lies beside the file before it is renamed over it"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_the_directory_is_synced_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    write_text(tmp_path / "file.txt", "x")
    assert synced == [False, True]


def test_writing_leaves_no_file_open(tmp_path: Path):
    before = len(list(Path("/dev/fd").iterdir()))
    write_text(tmp_path / "file.txt", "x")
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_replaced_and_its_target_untouched(tmp_path: Path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "mine"
    assert (tmp_path / "link").read_text() == "new"


def test_what_killed_processes_left_is_removed_and_the_work_of_others_is_not(tmp_path: Path):
    import socket

    host = socket.gethostname()
    dead, alive = (tmp_path / f"f.{host}.{pid}.aa.partial" for pid in (2**22 + 1, os.getpid()))
    dead.write_text("")
    alive.write_text("")
    write_text(tmp_path / "f", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", alive.name]


def test_watchers_are_told_of_every_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[Path] = []
    monkeypatch.setattr(files, "watchers", [seen.append])
    write_text(tmp_path / "a", "x")
    remove_file(tmp_path / "a")
    assert seen == [tmp_path / "a"] * 2


def test_text_that_is_not_utf8_and_missing_files_are_refused(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    with pytest.raises(WhatwhereError, match="is not text in UTF-8"):
        read_text(tmp_path / "a", "it")
    with pytest.raises(WhatwhereError, match=r"expected it at .* got no such file"):
        read_text(tmp_path / "b", "it")
    with pytest.raises(WhatwhereError, match="cannot be read: Is a directory"):
        read_text(tmp_path, "it")


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The name is random; whoever guessed it all the same gets nothing."""
    (tmp_path / "precious").write_text("precious")
    monkeypatch.setattr("whatwhere.store.files.secrets.token_hex", lambda _: "guessed")
    name = f"file.txt.{socket.gethostname()}.{os.getpid()}.guessed.partial"
    (tmp_path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(WhatwhereError, match="could not write"):
        write_text(tmp_path / "file.txt", "x")
    assert (tmp_path / "precious").read_text() == "precious"


def test_what_may_have_no_end_or_never_begin_is_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(WhatwhereError, match="got a device or a pipe; name a file"):
            read_bytes(path, "a table")


def test_the_cache_is_where_the_user_wants_it_or_below_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache_directory("kernels") == tmp_path / "mine" / "whatwhere" / "kernels"
    monkeypatch.setenv("HOME", str(tmp_path))
    for empty in (lambda: monkeypatch.setenv("XDG_CACHE_HOME", ""), lambda: monkeypatch.delenv("XDG_CACHE_HOME")):
        empty()
        assert cache_directory("kernels") == tmp_path / ".cache" / "whatwhere" / "kernels"


def test_a_new_file_may_be_read_by_whom_the_user_allows_and_its_temporary_name_cannot_be_guessed(tmp_path: Path):
    before = os.umask(0o022)
    try:
        with whole_file(tmp_path / "file.txt") as beside:
            middle = beside.name.split(".")[-2]
            assert len(middle) == 16 and int(middle, 16) >= 0
            assert beside.name == f"file.txt.{socket.gethostname()}.{os.getpid()}.{middle}.partial"
        assert stat.S_IMODE((tmp_path / "file.txt").stat().st_mode) == 0o644
    finally:
        os.umask(before)


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_text(tmp_path / "a", "four")
    monkeypatch.setattr("whatwhere.machine.memory.free_bytes", lambda: 4)
    assert read_bytes(tmp_path / "a", "it") == b"four"
    monkeypatch.setattr("whatwhere.machine.memory.free_bytes", lambda: 3)
    with pytest.raises(WhatwhereError, match=r"it at .* would take about"):
        read_bytes(tmp_path / "a", "it")


def test_names_with_patterns_and_other_files_keep_their_own_leftovers(tmp_path: Path):
    host, dead = socket.gethostname(), 2**22 + 1
    names = [f"{name}.{host}.{pid}.aa.partial" for name, pid in (("f[1]", dead), ("f1", dead), ("f[1]", "x"))]
    names.append(f"f[1].elsewhere.{dead}.aa.partial")
    for name in names:
        (tmp_path / name).write_text("")
    write_text(tmp_path / "f[1]", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["f[1]", *names[1:]])


def test_a_directory_that_cannot_be_opened_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened, whole = [], os.open

    def refuse(path: Path, flags: int, *mode: int) -> int:
        if Path(path) == tmp_path:
            opened.append(path)
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return whole(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)
    write_text(tmp_path / "file.txt", "x")
    assert opened == [tmp_path] and (tmp_path / "file.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("error", "runs"), [(None, True), (PermissionError, True), (ProcessLookupError, False), (OverflowError, False)]
)
def test_a_process_runs_unless_there_is_none_of_its_number(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception] | None, runs: bool
):
    asked: list[tuple[int, int]] = []

    def kill(pid: int, signal: int) -> None:
        asked.append((pid, signal))
        if error is not None:
            raise error

    monkeypatch.setattr(os, "kill", kill)
    assert files._runs(17) is runs
    assert asked == [(17, 0)], "signal 0 asks and does nothing"
