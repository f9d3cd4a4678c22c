import json
import shutil
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store import manifest as module
from whatwhere.store.manifest import FORMAT, Existing, Manifest, fingerprint


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    made = Manifest(tmp_path / "results")
    made.begin("length", {"inputs": 3, "lengths": (1, 2)}, {"model": "ab"})
    made.pause(0.0)
    return made


def again(manifest: Manifest) -> Manifest:
    """The same directory, as another process sees it."""
    return Manifest(manifest.directory)


def test_files_are_read_back_and_vouched_for(manifest: Manifest):
    manifest.put("a.csv", b"x\n1\n")
    assert again(manifest).has("a.csv")
    assert again(manifest).get("a.csv", "it") == b"x\n1\n"


@pytest.mark.parametrize("content", [b"x\n2\n", b"", b"x\n1\n\n"])
def test_changed_files_are_noticed(manifest: Manifest, content: bytes):
    manifest.put("a.csv", b"x\n1\n")
    (manifest.directory / "a.csv").write_bytes(content)
    with pytest.raises(WhatwhereError, match=r"is not the file that manifest.json describes"):
        again(manifest).get("a.csv", "it")
    manifest.finish(0.0)
    assert not again(manifest).is_current("length", {"inputs": 3, "lengths": (1, 2)}, {"model": "ab"})


def test_a_file_that_nobody_vouches_for_does_not_count(manifest: Manifest):
    (manifest.directory / "b.csv").write_text("x")
    assert not again(manifest).has("b.csv")


def test_a_kill_between_manifest_and_file_leaves_the_old_file_valid(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
):
    manifest.put("a.csv", b"old")
    manifest.put("b.csv", b"other")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_bytes", killed)
        with pytest.raises(KeyboardInterrupt):
            manifest.put("a.csv", b"new")
    after = again(manifest)
    assert after.get("a.csv", "it") == b"old"
    after.put("b.csv", b"another")
    assert again(manifest).get("a.csv", "it") == b"old"
    assert again(manifest).get("b.csv", "it") == b"another"


def test_a_kill_after_the_file_leaves_the_new_file_valid(manifest: Manifest):
    manifest.put("a.csv", b"old")
    manifest.put("a.csv", b"new")  # the manifest on disk still names it as being written
    assert json.loads(manifest.path.read_text())["writing"]
    assert again(manifest).get("a.csv", "it") == b"new"


def test_a_reader_waits_for_a_writer_that_is_between_two_files(manifest: Manifest):
    manifest.put("a.csv", b"old")
    reader = again(manifest)
    assert reader.get("a.csv", "it") == b"old"
    manifest.put("a.csv", b"new")
    assert reader.get("a.csv", "it") == b"new"


def test_the_same_settings_go_on_and_others_are_refused(manifest: Manifest):
    manifest.put("a.csv", b"x")
    again(manifest).begin("length", {"inputs": 3, "lengths": [1, 2]}, {"model": "ab"})
    assert again(manifest).has("a.csv")
    with pytest.raises(WhatwhereError, match=r"expected inputs 4, got 3; choose another directory\."):
        again(manifest).begin("length", {"inputs": 4, "lengths": [1, 2]}, {"model": "ab"})
    with pytest.raises(WhatwhereError, match="expected another model 'cd', got 'ab'"):
        again(manifest).begin("length", {"inputs": 3, "lengths": [1, 2]}, {"model": "cd"})
    with pytest.raises(WhatwhereError, match="expected those of 'geometry', got those of 'length'"):
        again(manifest).begin("geometry", {}, {})


@pytest.mark.parametrize("existing", ["replace", "discard"])
def test_other_results_are_removed_with_the_first_new_file_and_nothing_else(manifest: Manifest, existing: Existing):
    manifest.put("a.csv", b"x")
    (manifest.directory / "mine.txt").write_text("keep")
    before = {path.name: path.read_bytes() for path in manifest.directory.iterdir()}
    other = again(manifest)
    other.begin("geometry", {}, {}, existing=existing)
    assert not other.has("a.csv")
    assert {path.name: path.read_bytes() for path in manifest.directory.iterdir()} == before
    other.put("b.csv", b"y")
    assert sorted(path.name for path in manifest.directory.iterdir()) == ["b.csv", "manifest.json", "mine.txt"]
    assert again(manifest).record.kind == "geometry"


@pytest.mark.parametrize("written", [False, True])
def test_a_directory_that_was_removed_does_not_come_back(tmp_path: Path, written: bool):
    made = Manifest(tmp_path / "results")
    made.directory.mkdir()
    made.begin("length", {}, {})
    if written:
        made.put("a.csv", b"x")
    shutil.rmtree(made.directory)
    with pytest.raises(WhatwhereError, match="was removed while it was written to; run the command again"):
        made.put("b.csv", b"y")
    assert not made.directory.exists()


def test_results_of_the_same_settings_stay_unless_they_are_discarded(manifest: Manifest):
    manifest.put("a.csv", b"x")
    same = "length", {"inputs": 3, "lengths": (1, 2)}, {"model": "ab"}
    for existing in ("keep", "replace"):
        other = again(manifest)
        other.begin(*same, existing=existing)
        assert other.has("a.csv")
    other = again(manifest)
    other.begin(*same, existing="discard")
    assert not other.has("a.csv")
    other.finish(0.0)
    assert not (manifest.directory / "a.csv").exists()
    assert again(manifest).is_current(*same)


def test_results_are_current_once_the_work_has_ended(manifest: Manifest):
    settings, inputs = {"inputs": 3, "lengths": (1, 2)}, {"model": "ab"}
    manifest.put("a.csv", b"x")
    manifest.pause(2.0)
    assert not again(manifest).is_current("length", settings, inputs)
    manifest.finish(3.0)
    assert again(manifest).is_current("length", settings, inputs)
    assert again(manifest).record.seconds == 5.0
    assert not again(manifest).is_current("length", {**settings, "inputs": 4}, inputs)
    assert not Manifest(manifest.directory / "none").is_current("length", settings, inputs)


def test_every_changed_character_of_the_manifest_is_noticed(manifest: Manifest):
    manifest.put("a.csv", b"x")
    manifest.finish(1.0)
    whole, told = manifest.path.read_bytes(), again(manifest).record
    for at in range(len(whole)):
        manifest.path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with suppress(WhatwhereError):
            assert again(manifest).record == told  # white space between values


def test_newer_formats_and_directories_of_0_1_are_named(manifest: Manifest, tmp_path: Path):
    content = json.loads(manifest.path.read_text())
    manifest.path.write_text(json.dumps({**content, "format": FORMAT + 1}))
    with pytest.raises(WhatwhereError, match=f"expected a format up to {FORMAT}, got {FORMAT + 1}.*update this one"):
        _ = again(manifest).record
    old = tmp_path / "old"
    old.mkdir()
    (old / "settings.json").write_text("{}")
    with pytest.raises(WhatwhereError, match=r"made by whatwhere 0.1, which this version does not read"):
        _ = Manifest(old).record
    with pytest.raises(WhatwhereError, match="cannot take results"):
        Manifest(old).begin("length", {}, {})
    with pytest.raises(WhatwhereError, match=r"expected results with a manifest.json"):
        _ = Manifest(tmp_path / "nothing").record


def test_something_that_is_no_file_in_the_place_of_a_table_is_named(manifest: Manifest):
    (manifest.directory / "a.csv").mkdir()
    with pytest.raises(WhatwhereError, match="expected a file at"):
        manifest.has("a.csv")


def test_fingerprints_tell_descriptions_apart():
    assert fingerprint({"a": (1, 2), "b": None}) == fingerprint({"b": None, "a": [1, 2]})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_a_directory_without_files_takes_other_settings(tmp_path: Path) -> None:
    """Work that was refused before its first file leaves nothing to keep."""
    Manifest(tmp_path).begin("length", {"inputs": -1}, {})
    assert not Manifest(tmp_path).exists
    killed = Manifest(tmp_path)  # between the manifest and the first file
    killed.begin("length", {"inputs": 1}, {})
    killed.pause(0.0)
    other = Manifest(tmp_path)
    other.begin("length", {"inputs": 10}, {})
    other.put("a.csv", b"x")
    assert Manifest(tmp_path).record.settings == {"inputs": 10}


def test_a_dangling_link_is_no_lost_file(tmp_path: Path):
    made = Manifest(tmp_path / "results")
    made.begin("length", {}, {})
    made.put("a.csv", b"x")
    assert not made.has_lost_files()
    (made.directory / "a.csv").unlink()
    assert made.has_lost_files()
    (made.directory / "a.csv").symlink_to(tmp_path / "nowhere")  # refused elsewhere, not measured again
    assert not made.has_lost_files()


def test_fingerprints_stay_what_they_were():
    """Directories on disk and claims are known by them."""
    assert fingerprint({"b": (1, 2.5, None), "a": "ü"}) == "b7f18cc940079559"


def test_a_wrong_file_is_read_five_times_before_it_is_refused(manifest: Manifest, monkeypatch: pytest.MonkeyPatch):
    manifest.put("a.csv", b"x")
    (manifest.directory / "a.csv").write_bytes(b"y")
    slept: list[float] = []
    monkeypatch.setattr(module.time, "sleep", slept.append)
    with pytest.raises(WhatwhereError, match="is not the file that"):
        again(manifest).get("a.csv", "it")
    assert slept == [0.05] * 5


def test_the_manifest_of_new_results_says_what_they_are_and_that_they_are_not_whole(manifest: Manifest):
    record = again(manifest).record
    assert (record.format, record.kind, record.complete, record.seconds) == (2, "length", False, 0)
    assert (record.settings, record.inputs) == ({"inputs": 3, "lengths": [1, 2]}, {"model": "ab"})
    assert (record.files, record.writing, record.whatwhere) == ({}, {}, version("whatwhere"))
    manifest.finish(2.0)
    manifest.pause(1.0)
    assert (again(manifest).record.complete, again(manifest).record.seconds) == (False, 3)


def test_results_of_this_kind_and_settings_may_be_of_any_inputs(manifest: Manifest):
    settings = {"inputs": 3, "lengths": (1, 2)}
    assert again(manifest).is_made_with("length", settings)
    assert not again(manifest).is_made_with("geometry", settings)
    assert not again(manifest).is_made_with("length", {})
    assert not Manifest(manifest.directory / "none").is_made_with("length", settings)
    manifest.finish(0.0)
    assert again(manifest).is_current("length", settings, {"model": "ab"})
    assert not again(manifest).is_current("length", settings, {"model": "cd"})


def test_results_with_a_removed_file_are_not_current(manifest: Manifest):
    manifest.put("a.csv", b"x")
    manifest.put("b.csv", b"y")
    manifest.finish(0.0)
    (manifest.directory / "a.csv").unlink()
    assert not again(manifest).is_current("length", {"inputs": 3, "lengths": (1, 2)}, {"model": "ab"})
    assert not again(manifest).has("a.csv") and again(manifest).has("b.csv")


def test_a_directory_that_is_made_for_a_lock_and_removed_does_not_come_back(tmp_path: Path):
    made = Manifest(tmp_path / "results")
    made.begin("length", {}, {}, held=True)
    with pytest.raises(WhatwhereError, match="was removed while it was written to"):
        made.put("a.csv", b"x")
    unheld = again(made)
    unheld.begin("length", {}, {})
    unheld.put("a.csv", b"x")
    assert again(made).has("a.csv")


@pytest.mark.parametrize("content", [{"format": "2"}, {"format": True}, {"format": None}, {"format": 3}])
def test_a_format_that_is_no_number_or_newer_is_refused(manifest: Manifest, content: dict[str, object]):
    known = json.loads(manifest.path.read_text())
    manifest.path.write_text(json.dumps({**known, **content}))
    with pytest.raises(WhatwhereError, match="expected a format up to 2, got"):
        _ = again(manifest).record


def test_a_link_in_the_place_of_a_table_is_named(manifest: Manifest, tmp_path: Path):
    manifest.put("a.csv", b"x")
    (tmp_path / "elsewhere").write_bytes(b"x")
    (manifest.directory / "a.csv").unlink()
    (manifest.directory / "a.csv").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WhatwhereError, match="expected a file at"):
        again(manifest).has("a.csv")


def test_advice_of_the_caller_ends_the_message(manifest: Manifest):
    manifest.put("a.csv", b"x")
    with pytest.raises(WhatwhereError, match=r"expected settings_of 3, got None; use --force\."):
        again(manifest).begin(
            "length", {"inputs": 3, "lengths": [1, 2], "settings_of": 3}, {"model": "ab"}, advice="use --force"
        )
