import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from checked_types import unchecked

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.model.checkpoint import weights_of
from whatwhere.store import addresses as remote
from whatwhere.store.addresses import local, shown
from whatwhere.store.files import cache_directory, remove_file, watchers, write_text
from whatwhere.store.mirror import Mirror
from whatwhere.training.run import Run

KERNELS = cache_directory("kernels")
"""Of the user; tests have a cache of their own."""


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, and nothing kept in step when the test ends."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield
    forget()


def forget() -> None:
    """As if the process had ended."""
    remote._mirrors.clear()
    if remote._changed in watchers:
        watchers.remove(remote._changed)


@pytest.fixture
def elsewhere(tmp_path: Path) -> tuple[str, Path]:
    """An address and the directory behind it, through fsspec's own local file system."""
    return f"file://{tmp_path}/there", tmp_path / "there"


def test_what_is_no_address_stands_for_itself():
    for place in ("runs/number", "number", "/data/x", "C://x", "./number"):
        assert local(place) == place
    assert shown(Path("runs/number")) == "runs/number"


def test_files_follow_as_soon_as_they_are_whole(elsewhere: tuple[str, Path]):
    url, there = elsewhere
    here = Path(local(f"{url}/"))
    assert shown(here / "a" / "b.txt") == f"{url}/a/b.txt"
    assert shown(here) == url
    write_text(here / "a" / "b.txt", "one")
    assert (there / "a" / "b.txt").read_text() == "one"
    write_text(here / "a" / "b.txt", "two")
    assert (there / "a" / "b.txt").read_text() == "two"
    remove_file(here / "a" / "b.txt")
    remove_file(here / "a" / "b.txt")
    assert not list(there.rglob("*.txt"))
    write_text(here.parent / "beside.txt", "not ours")
    write_text(here / ".train.lock", "not a result")
    assert [path.name for path in there.rglob("*") if path.is_file()] == []


def change(path: Path, text: str | None) -> None:
    """Another process's doing, which nobody was told of; a time of its own, as clocks are coarse."""
    if text is None:
        path.unlink()
        return
    path.write_text(text)
    later = time.time_ns() + 1_000_000_000
    os.utime(path, ns=(later, later))


@pytest.mark.parametrize(
    ("change_here", "change_there", "both"),
    [
        (False, False, "old"),
        ("mine", False, "mine"),
        (False, "theirs", "theirs"),
        ("mine", "theirs", "theirs"),
        (None, False, "old"),
        (False, None, None),
        ("mine", None, "mine"),
        (None, "theirs", "theirs"),
        (None, None, None),
    ],
)
def test_two_sides_meet_by_the_rules(
    elsewhere: tuple[str, Path], change_here: str | bool | None, change_there: str | bool | None, both: str | None
):
    url, there = elsewhere
    here = Path(local(url))
    write_text(here / "table.csv", "old")
    forget()
    for side, wanted in ((here, change_here), (there, change_there)):
        if not isinstance(wanted, bool):
            change(side / "table.csv", wanted)
    local(url)
    for side in (here, there):
        found = (side / "table.csv").read_text() if (side / "table.csv").exists() else None
        assert found == both
    forget()
    said: list[str] = []
    local(url, said.append)
    assert said == []  # in step


def test_a_part_of_an_address_that_is_open_is_not_fetched_again(elsewhere: tuple[str, Path]):
    url, there = elsewhere
    here = Path(local(url))
    (there / "items").mkdir(parents=True)
    (there / "items" / "late.txt").write_text("later")
    assert local(f"{url}/items") == str(here / "items")
    assert not (here / "items").exists()


def test_a_damaged_record_costs_a_fetch_and_nothing_else(elsewhere: tuple[str, Path], tmp_path: Path):
    url, there = elsewhere
    here = Path(local(url))
    write_text(here / "a.txt", "one")
    (record,) = (tmp_path / "cache").rglob("a.txt.json")
    record.write_text("{half")
    forget()
    local(url)
    assert (here / "a.txt").read_text() == (there / "a.txt").read_text() == "one"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nosuch://bucket/run", "the scheme of 'nosuch://bucket/run' is unknown"),
        ("s3://", "expected an address such as s3://bucket/prefix, got"),
        ("s3://bucket/../other", "expected an address such as s3://bucket/prefix, got"),
        ("gcs://bucket/run", "needs a package that is not installed: .*gcsfs"),
        ("sftp://host/run", "sftp://host/run (cannot be opened|needs a package)"),
    ],
)
def test_addresses_that_lead_nowhere_are_refused(address: str, message: str):
    with pytest.raises(WhatwhereError, match=message):
        local(address)


@pytest.mark.parametrize("package", ["fsspec", "s3fs"])
def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, package: str):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package} is needed .* pip install 'whatwhere\[scale\]'"):
        local("s3://bucket/run")


def test_an_object_whose_name_leads_out_is_refused(elsewhere: tuple[str, Path], monkeypatch: pytest.MonkeyPatch):
    url, _ = elsewhere
    mirror = Mirror.of(url)
    monkeypatch.setattr(type(mirror.files), "find", lambda *_, **__: {f"{mirror.root}/../evil": {"size": 1}})
    with pytest.raises(WhatwhereError, match="which leads out of it"):
        local(url)


def test_a_place_that_we_may_not_enter_is_said(elsewhere: tuple[str, Path], monkeypatch: pytest.MonkeyPatch):
    def closed(*_: object, **__: object) -> None:
        raise PermissionError("Access Denied")

    url, _ = elsewhere
    monkeypatch.setattr(type(Mirror.of(url).files), "find", closed)
    with pytest.raises(WhatwhereError, match=r"could not be read: Access Denied\. Ask for the right"):
        local(url)


class Server:
    """A local S3, which can be switched off and on again with what it holds."""

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer

        self.make: Callable[[int], ThreadedMotoServer] = lambda port: ThreadedMotoServer(
            ip_address="127.0.0.1", port=port, verbose=False
        )
        self.server = self.make(0)
        self.server.start()
        self.port = self.server.get_host_and_port()[1]

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server = self.make(self.port)
        self.server.start()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The address of a new bucket."""
    import fsspec

    variables = {
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{abs(hash(request.node.name))}"
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(name)
    return f"s3://{name}"


@pytest.mark.slow
def test_objects_come_and_go_and_another_machine_sees_them(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    here = Path(local(f"{bucket}/run"))
    write_text(here / "checkpoints" / "a.txt", "a")
    write_text(here / "b.txt", "b")
    remove_file(here / "b.txt")
    write_text(Path(local(f"{bucket}/run-2")) / "c.txt", "c")
    forget()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another machine"))
    found = Path(local(f"{bucket}/run"))
    assert found != here
    assert {path.name: path.read_text() for path in found.rglob("*.txt")} == {"a.txt": "a"}


@pytest.mark.slow
def test_a_bucket_that_is_not_there_and_missing_credentials_are_said(bucket: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(WhatwhereError, match=r"s3://nowhere/run could not be read.*Is there a bucket 'nowhere'\?"):
        local("s3://nowhere/run")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(WhatwhereError, match=r"Unable to locate credentials\. Set AWS_ACCESS_KEY_ID"):
        local(f"{bucket}/run")


@pytest.mark.slow
def test_when_the_network_goes_the_file_is_kept_and_sent_later(bucket: str, server: Server):
    here = Path(local(f"{bucket}/run"))
    write_text(here / "a.txt", "one")
    server.stop()
    try:
        with pytest.raises(WhatwhereError, match=r"a\.txt could not be copied to s3://.* It is kept in .*continues"):
            write_text(here / "a.txt", "two")
        assert (here / "a.txt").read_text() == "two"
        forget()
        with pytest.raises(WhatwhereError, match=r"could not be read: .*continues"):
            local(f"{bucket}/run")
    finally:
        server.start()
    said: list[str] = []
    local(f"{bucket}/run", said.append)
    assert said == [f"Sending 1 files that were not yet at {bucket}/run ..."]
    mirror = Mirror.of(f"{bucket}/run")
    assert mirror.files.cat(f"{mirror.root}/a.txt") == b"two"


@pytest.mark.slow
def test_a_training_killed_here_goes_on_there_with_equal_weights(bucket: str, tmp_path: Path):
    def train(machine: str, *options: str) -> subprocess.Popen[str]:
        if KERNELS.is_dir():  # compiling them again is not what is tested
            shutil.copytree(KERNELS, tmp_path / machine / "whatwhere" / "kernels", dirs_exist_ok=True)
        words = ["train", "letter", "--out", f"{bucket}/run", *options]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / machine)}
        told_often = "from whatwhere import cli; from whatwhere.studies import progress_bar as bar; bar.LINE_EVERY = 0"
        return subprocess.Popen(
            [sys.executable, "-c", f"{told_often}; cli.main()", *words],
            env=environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    begun = train("one", "--preset", "smoke", "--threads", "1")
    assert begun.stderr is not None
    while " 12/24" not in (line := begun.stderr.readline()):
        assert line, "it ended early"
    begun.send_signal(signal.SIGKILL)
    begun.communicate()
    resumed = train("two", "--resume")
    told = resumed.communicate()[1]
    assert resumed.returncode == 0, told
    assert "Fetching" in told
    assert " 24/24" in told
    assert " 5/24" not in told
    from whatwhere.training.loop import train as train_run

    found, undisturbed = Run(local(f"{bucket}/run")), Run(tmp_path / "undisturbed")
    undisturbed.create(found.config)
    expected = weights_of(train_run(undisturbed))
    for name, weights in weights_of(found.load()).items():
        np.testing.assert_array_equal(weights, expected[name])
    assert found.steps() == undisturbed.steps()
    assert len(list((found.directory / "resume").iterdir())) == 2


def test_a_copy_that_fails_on_its_way_leaves_the_earlier_one_whole(elsewhere: tuple[str, Path]):
    """Where copies are not whole or nothing by themselves, they are made beside the file and renamed."""
    url, there = elsewhere
    path = Path(local(url)) / "results.csv"
    write_text(path, "old")
    [mirror] = remote._mirrors

    class Broken:
        def __init__(self, files: object) -> None:
            self.files = files

        def __getattr__(self, name: str) -> object:
            return getattr(self.files, name)

        def put_file(self, source: str, target: str) -> None:
            Path(target).write_text(Path(source).read_text()[:1])
            raise OSError("the line went dead")

    object.__setattr__(mirror, "files", Broken(mirror.files))
    with pytest.raises(WhatwhereError, match="the line went dead"):
        write_text(path, "new")
    assert (there / "results.csv").read_text() == "old"


def test_what_others_wrote_is_sent_at_the_end(elsewhere: tuple[str, Path]):
    url, there = elsewhere
    here = Path(local(url))
    write_text(here / "ours.txt", "known")
    (here / "theirs.txt").write_text("of a helper")
    assert not (there / "theirs.txt").exists()
    remote.send_rest()
    assert (there / "theirs.txt").read_text() == "of a helper"


def test_what_is_copied_is_said_and_only_what_was_asked_for_is_fetched(elsewhere: tuple[str, Path]):
    url, there = elsewhere
    (there / "deep").mkdir(parents=True)
    for name in ("a.csv", "b.json", "deep/c.csv"):
        (there / name).write_text(name)
    said: list[str] = []
    here = Path(local(url, said.append, only=("*.csv",)))
    assert said == [f"Fetching 2 files from {url} ..."]
    assert sorted(path.name for path in here.rglob("*") if path.is_file()) == ["a.csv", "c.csv"]
    forget()
    change(here / "a.csv", "mine")
    said.clear()
    local(url, said.append)
    assert said == [f"Fetching 1 files from {url} ...", f"Sending 1 files that were not yet at {url} ..."]
    assert (there / "a.csv").read_text() == "mine" and (here / "b.json").read_text() == "b.json"


def test_locks_and_what_is_being_written_are_no_results_of_either_side(elsewhere: tuple[str, Path]):
    url, there = elsewhere
    there.mkdir()
    for name in (".train.lock", "half.csv.partial", "whole.csv"):
        (there / name).write_text(name)
    here = Path(local(url))
    assert [path.name for path in here.rglob("*") if path.is_file()] == ["whole.csv"]
    (here / ".lock").write_text("")
    (here / "b.partial").write_text("")
    remote.send_rest()
    assert sorted(path.name for path in there.iterdir()) == [".train.lock", "half.csv.partial", "whole.csv"]


@pytest.mark.parametrize("renamed", [False, True])
def test_object_stores_get_files_as_they_are_and_others_a_file_that_is_renamed(
    elsewhere: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, renamed: bool
):
    here = Path(local(elsewhere[0] if renamed else "memory://bucket/run"))
    [mirror] = remote._mirrors
    put: list[str] = []
    whole = type(mirror.files).put_file

    def noted(self: object, source: str, target: str, **more: object) -> None:
        put.append(target)
        whole(self, source, target, **more)

    monkeypatch.setattr(type(mirror.files), "put_file", noted)
    write_text(here / "a.txt", "whole")
    assert put == [f"{mirror.root}/a.txt{'.partial' * renamed}"]
    assert mirror.files.cat_file(f"{mirror.root}/a.txt") == b"whole"
    remove_file(here / "a.txt")
    assert not mirror.files.exists(f"{mirror.root}/a.txt")


def test_what_a_file_system_lists_is_never_remembered(elsewhere: tuple[str, Path]):
    one, other = Mirror.of(elsewhere[0]), Mirror.of(elsewhere[0])
    assert one.files is not other.files
    assert one.files.dircache.use_listings_cache is False


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError("no such place."), r"could not be read: no such place\. Is there a bucket .*Create it"),
        (OSError(), r"could not be read: OSError\. Once it can be reached, the same command .* continues\."),
        (WhatwhereError("our own words"), "^our own words$"),
    ],
)
def test_each_reason_of_a_failure_has_its_advice(monkeypatch: pytest.MonkeyPatch, error: Exception, message: str):
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(type(Mirror.of("file:///tmp/nowhere").files), "find", fails)
    with pytest.raises(WhatwhereError, match=message):
        local("file:///tmp/nowhere")


def test_a_part_of_a_place_is_shown_as_its_address_and_a_neighbour_as_it_is(elsewhere: tuple[str, Path]):
    url, _ = elsewhere
    here = Path(local(url))
    assert shown(here.parent / "beside") == str(here.parent / "beside")
    assert local(f"{url}") == str(here)
    assert len(remote._mirrors) == 1


@pytest.mark.parametrize(
    ("place", "stored"),
    [("s3://bucket/run", True), ("S3://bucket", True), ("file:///tmp", False), ("s3:/bucket", False), ("c://x", False)],
)
def test_addresses_of_object_stores_are_known_by_their_scheme(place: str, stored: bool):
    assert remote.is_stored(place) is stored


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("", "expected a directory, got an empty name"),
        ("a\0b", "expected a directory, got an empty name"),
        ("~nobody-of-this-name/x", "expected a directory, got '~nobody-of-this-name/x'"),
        (3, "expected a directory, got a int: 3"),
    ],
)
def test_what_names_no_place_is_refused(place: object, message: str):
    with unchecked(), pytest.raises(WhatwhereError, match=message):
        remote.name_of_place(place)  # pyright: ignore[reportArgumentType]


def test_a_name_stands_for_itself_and_a_tilde_for_the_home(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert remote.name_of_place("runs/a") == "runs/a"
    assert remote.name_of_place(Path("runs/a")) == "runs/a"
    assert remote.name_of_place("~/a") == "/home/somebody/a"
    assert remote.name_of_place("s3://bucket/~a") == "s3://bucket/~a"
