import sys
from pathlib import Path

import pytest

from whatwhere import cli
from whatwhere.cli.addresses import paths_for_addresses
from whatwhere.store import addresses as remote
from whatwhere.store.addresses import is_stored
from whatwhere.store.files import watchers
from whatwhere.store.storage import write_text


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address whose store lives in this process, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(remote, "_mirrors", [])
    monkeypatch.setattr(remote, "watchers", list(watchers))
    return f"memory://{tmp_path.name}/run"


def test_commands_see_paths_where_the_user_gave_addresses(address: str):
    with paths_for_addresses(
        ["score", address, f"--out={address}", "--out", "here", "http://x/y", "-n", "a=b"]
    ) as words:
        here = words[1]
    assert Path(here).is_absolute()
    assert words == ["score", here, f"--out={here}", "--out", "here", "http://x/y", "-n", "a=b"]


@pytest.mark.parametrize(
    "words", [["train", "s3://b/r"], ["sweep", "x", "--out", "s3://b/r"], ["score", "s3://b/r", "-h"], []]
)
def test_some_command_lines_stay_as_they_are(words: list[str]):
    with paths_for_addresses(words) as same:
        assert same == words


def test_only_object_storage_is_taken_for_it():
    assert is_stored("s3://bucket/run")
    assert not any(is_stored(word) for word in ("ray://host:1", "http://host", "runs/s3", "file:///tmp"))


def test_what_helpers_wrote_is_sent_when_the_command_ends(address: str):
    with pytest.raises(SystemExit), paths_for_addresses(["reproduce", "--out", address]) as words:
        # not through the watcher: another process has none
        remote.watchers.clear()
        (Path(words[2]) / "a").mkdir(parents=True)
        (Path(words[2]) / "a" / "b.csv").write_text("1\n")
        write_text(Path(words[2]) / ".lock", "no result")
        raise SystemExit(0)
    store = remote._mirrors[0]
    assert store.files.find(store.root) == [f"{store.root}/a/b.csv"]


def test_an_address_that_cannot_be_read_ends_with_code_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["whatwhere", "score", "s3://../x"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "an address such as s3://bucket/prefix was expected" in capsys.readouterr().err
