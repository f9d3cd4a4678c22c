import os
import subprocess
import sys
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store import lock
from whatwhere.store.lock import only_one

HOLD = """
import sys, time
from pathlib import Path
from whatwhere.store.lock import only_one
with only_one(Path(sys.argv[1]), "train"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_told_who_is_at_work(
    holder: "subprocess.Popen[str]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lock, "PATIENCE", 0.0)
    with pytest.raises(WhatwhereError, match=rf"is in use: process {holder.pid} on .* is at work there \(train\)"):
        only_one(tmp_path, "train").__enter__()
    with only_one(tmp_path, "score"):  # other work is not hindered
        pass
    holder.kill()
    holder.wait()
    with only_one(tmp_path, "train"):  # a crash leaves no lock behind
        assert str(os.getpid()) in (tmp_path / ".train.lock").read_text()
    assert not list(tmp_path.iterdir())


def test_a_holder_that_has_not_given_its_name_yet_is_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock, "PATIENCE", 0.0)
    with only_one(tmp_path, "train"):
        (tmp_path / ".train.lock").write_text("")
        with pytest.raises(WhatwhereError, match="another process is at work there"):
            only_one(tmp_path, "train").__enter__()


def test_a_place_that_cannot_be_written_to_cannot_be_held(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WhatwhereError, match="could not write to"):
        only_one(tmp_path / "file", "train").__enter__()


def test_a_lock_that_its_holder_removed_is_taken_anew(tmp_path: Path):
    with only_one(tmp_path, "train"):
        (tmp_path / ".train.lock").unlink()
        with only_one(tmp_path, "train"):
            assert (tmp_path / ".train.lock").exists()
