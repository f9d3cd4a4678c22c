import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import (
    load_tensors,
    read_csv,
    read_json,
    remove_file,
    save_tensors,
    whole_file,
    write_csv,
    write_json,
    write_text,
)


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


def test_tensors_come_back_with_their_metadata(tmp_path: Path):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.float32(np.zeros(0)), "c": np.array(1.5)}
    save_tensors(tmp_path / "t.safetensors", arrays, {"note": "ü"})
    loaded, notes = load_tensors(tmp_path / "t.safetensors", "data")
    assert notes == {"note": "ü"}
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array)


@given(data=st.data())
def test_any_changed_byte_is_noticed(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("flip") / "t.safetensors"
    save_tensors(path, {"a": np.arange(8.0), "b": np.arange(3)}, {"k": "v"})
    before = path.read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    bit = data.draw(st.integers(0, 7))
    path.write_bytes(before[:at] + bytes([before[at] ^ (1 << bit)]) + before[at + 1 :])
    try:
        arrays, notes = load_tensors(path, "data")
    except WhatwhereError:
        return
    # A flip that survives may only touch what carries no information, such as padding in the header.
    np.testing.assert_array_equal(arrays["a"], np.arange(8.0))
    np.testing.assert_array_equal(arrays["b"], np.arange(3))
    assert notes == {"k": "v"}


@given(keep=st.floats(0, 0.999))
def test_a_truncated_file_is_refused(keep: float, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("cut") / "t.safetensors"
    save_tensors(path, {"a": np.arange(100.0)})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(WhatwhereError, match="not a whole safetensors file"):
        load_tensors(path, "data")


def test_a_pickle_under_a_safe_name_is_refused(tmp_path: Path):
    path = tmp_path / "t.safetensors"
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(WhatwhereError, match="not a whole safetensors file"):
        load_tensors(path, "a model")


def test_a_file_without_checksum_and_a_missing_file_are_refused(tmp_path: Path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "t.safetensors")
    with pytest.raises(WhatwhereError, match="carries no checksum"):
        load_tensors(tmp_path / "t.safetensors", "a model")
    with pytest.raises(WhatwhereError, match="there is no such file"):
        load_tensors(tmp_path / "none.safetensors", "a model")


def test_a_wrong_checksum_is_called_damage(tmp_path: Path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "t.safetensors", metadata={"whatwhere.sha256": "0" * 64})
    with pytest.raises(WhatwhereError, match="does not match its checksum"):
        load_tensors(tmp_path / "t.safetensors", "a model")


def test_json_round_trips_and_says_what_is_wrong(tmp_path: Path):
    path = tmp_path / "a.json"
    write_json(path, {"a": [1, 2.5, None], "ü": "x"})
    assert read_json(path, "it") == {"a": [1, 2.5, None], "ü": "x"}
    path.write_text('{"a": ')
    with pytest.raises(WhatwhereError, match=r"it at .* is not valid JSON"):
        read_json(path, "it")
    path.write_text(json.dumps([1]))
    with pytest.raises(WhatwhereError, match="should hold a JSON object, and it holds a list"):
        read_json(path, "it")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(WhatwhereError, match="cannot be read"):
        read_json(path, "it")
    with pytest.raises(WhatwhereError, match="there is no such file"):
        read_json(tmp_path / "b.json", "it")


def test_tables_round_trip_with_undefined_cells_empty(tmp_path: Path):
    path = tmp_path / "t.csv"
    write_csv(path, ["step", "value", "name"], [[1, 0.1, 'a "b", c'], [2, float("nan"), ""]])
    rows = read_csv(path, "the table", ["step", "value"])
    assert rows == [{"step": "1", "value": "0.1", "name": 'a "b", c'}, {"step": "2", "value": "", "name": ""}]


def test_a_damaged_table_is_refused_with_the_line(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("step,value\n1,2\n3\n")
    with pytest.raises(WhatwhereError, match="line 3"):
        read_csv(path, "the table", ["step"])
    with pytest.raises(WhatwhereError, match="lacks score"):
        read_csv(path, "the table", ["step", "score"])


def test_any_changed_character_of_a_table_or_of_json_is_noticed(tmp_path: Path):
    write_csv(tmp_path / "t.csv", ["step", "value"], [[1, 0.25], [2, 0.5]], owner="ab")
    write_json(tmp_path / "t.json", {"step": 1, "value": 0.25}, owner="ab")
    for path, read in (
        (tmp_path / "t.csv", lambda p: read_csv(p, "it", [])),
        (tmp_path / "t.json", lambda p: read_json(p, "it")),
    ):
        whole, found = path.read_bytes(), read(path)
        for at in range(len(whole)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            try:
                told = read(path)
            except WhatwhereError:
                continue
            # What survives has touched nothing but the name of the seal, or space between values.
            rows = told if isinstance(told, list) else [told]
            assert [{k: r[k] for k in ("step", "value")} for r in rows] == (
                found if isinstance(found, list) else [found]
            )


def test_a_table_that_lost_lines_is_refused(tmp_path: Path):
    path = tmp_path / "t.csv"
    write_csv(path, ["step"], [[1], [2], [3]])
    lines = path.read_text().splitlines(keepends=True)
    for kept in (lines[:1], lines[:2], lines[:-1], lines[:1] + lines[2:]):
        path.write_text("".join(kept))
        with pytest.raises(WhatwhereError, match=r"seal"):
            read_csv(path, "the table", ["step"])
    write_csv(path, ["step"], [])
    assert path.read_text() == "step\n"
    assert read_csv(path, "the table", ["step"]) == []


def test_a_table_with_a_doubled_column_or_endless_cell_is_refused(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("step,step\n1,2\n")
    with pytest.raises(WhatwhereError, match="two of its columns have the same name"):
        read_csv(path, "the table", ["step"])
    path.write_text("step\n" + "1" * 200_000)
    with pytest.raises(WhatwhereError, match="is damaged: field larger than field limit"):
        read_csv(path, "the table", ["step"])


def test_a_newer_format_is_refused(tmp_path: Path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "t.safetensors", metadata={"whatwhere.format": "2"})
    with pytest.raises(WhatwhereError, match="has the format 2, and this whatwhere reads formats up to 1"):
        load_tensors(tmp_path / "t.safetensors", "a model")


def test_names_that_are_no_unicode_survive_in_json(tmp_path: Path):
    write_json(tmp_path / "t.json", {"name": "a\udcff"})
    assert read_json(tmp_path / "t.json", "it") == {"name": "a\udcff"}


def test_a_file_that_cannot_be_removed_is_named(tmp_path: Path):
    remove_file(tmp_path / "none")
    with pytest.raises(WhatwhereError, match="could not remove"):
        remove_file(tmp_path)
