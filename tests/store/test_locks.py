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
