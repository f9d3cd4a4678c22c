import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store import locks
from whatwhere.store.locks import hold

HOLD = """
import sys, time
from pathlib import Path
from whatwhere.store.locks import hold
with hold(Path(sys.argv[1]), "train"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_told_who_is_at_work_and_a_crash_leaves_no_lock(
    holder: "subprocess.Popen[str]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    with pytest.raises(WhatwhereError, match=rf"is in use: process {holder.pid} on .* is at work there \(train\)"):
        hold(tmp_path, "train").__enter__()
    with hold(tmp_path, "score"):  # other work is not hindered
        pass
    holder.kill()
    holder.wait()
    with hold(tmp_path, "train"):
        pass


def test_a_holder_that_has_not_given_its_name_yet_is_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    with hold(tmp_path, "train"):
        (tmp_path / ".train.holder").write_text("")
        with pytest.raises(WhatwhereError, match="another process is at work there"):
            hold(tmp_path, "train").__enter__()


def test_a_place_that_cannot_be_written_to_cannot_be_held(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WhatwhereError, match="could not write to"):
        hold(tmp_path / "file", "train").__enter__()


def test_a_directory_that_was_made_for_the_lock_and_stayed_empty_is_removed(tmp_path: Path):
    with hold(tmp_path / "new" / "place", "train"):
        pass
    assert not list(tmp_path.iterdir())
    with hold(tmp_path / "kept", "train"):
        (tmp_path / "kept" / "table.csv").write_text("")
    assert (tmp_path / "kept" / "table.csv").is_file()


def test_a_held_lock_names_its_holder_and_leaves_nothing_but_itself(tmp_path: Path):
    with hold(tmp_path, "train"):
        process, machine, command = json.loads((tmp_path / ".train.holder").read_text())
        assert (process, machine, command) == (os.getpid(), socket.gethostname(), " ".join(sys.argv))
        assert sorted(path.name for path in tmp_path.iterdir()) == [".train.holder", ".train.lock"]
    assert "holder" not in "".join(path.name for path in tmp_path.iterdir())


def test_a_lock_is_free_again_after_an_error_and_waits_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert locks.PATIENCE == 2
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    with pytest.raises(RuntimeError), hold(tmp_path, "train"):
        raise RuntimeError
    with hold(tmp_path, "train"):
        pass


def test_a_directory_that_was_there_stays_even_if_it_is_empty(tmp_path: Path):
    with hold(tmp_path, "train"):
        pass
    assert tmp_path.is_dir()
    with hold(tmp_path / "new", "train"):
        (tmp_path / "new" / ".score.lock").write_text("")  # another process holds it for other work
    assert (tmp_path / "new" / ".score.lock").is_file()


@pytest.mark.parametrize("text", ["[1]", "{}", '["x", "y", "z"]', "[[1"])
def test_a_damaged_name_of_a_holder_is_another_process(tmp_path: Path, text: str):
    (tmp_path / "holder").write_text(text)
    assert locks._name(tmp_path / "holder") == "another process"
    assert locks._name(tmp_path / "none") == "another process"
