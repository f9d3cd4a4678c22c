from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.store.tensors import _checksum, load_tensors, save_tensors


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
    with pytest.raises(WhatwhereError, match=r"expected a model at .* got no such file"):
        load_tensors(tmp_path / "none.safetensors", "a model")


def test_a_wrong_checksum_is_called_damage(tmp_path: Path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "t.safetensors", metadata={"whatwhere.sha256": "0" * 64})
    with pytest.raises(WhatwhereError, match="does not match its checksum"):
        load_tensors(tmp_path / "t.safetensors", "a model")


def test_a_newer_format_is_refused(tmp_path: Path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "t.safetensors", metadata={"whatwhere.format": "2"})
    with pytest.raises(WhatwhereError, match="expected a format up to 1, got 2"):
        load_tensors(tmp_path / "t.safetensors", "a model")


def test_a_file_that_does_not_fit_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save_tensors(tmp_path / "t.safetensors", {"a": np.zeros(2)})
    monkeypatch.setattr(memory, "free_bytes", lambda: 1)
    with pytest.raises(WhatwhereError, match=r"a model at .* would take about"):
        load_tensors(tmp_path / "t.safetensors", "a model")


@pytest.mark.parametrize("form", ["x", "", "-1", "1.0", "9" * 5000])
def test_a_format_that_is_no_known_number_is_refused(tmp_path: Path, form: str):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(2)}, tmp_path / "t.safetensors", metadata={"whatwhere.format": form})
    with pytest.raises(WhatwhereError, match="expected a format up to 1, got"):
        load_tensors(tmp_path / "t.safetensors", "a model")


def test_the_checksum_covers_names_kinds_shapes_and_notes():
    array = np.arange(6, dtype=np.int32)
    others = [{"b": array}, {"a": array.astype(np.int64)}, {"a": array.reshape(2, 3)}, {"a": array + 1}]
    known = {_checksum(arrays, {}) for arrays in ({"a": array}, {"a": array, "b": array}, *others)}
    known |= {_checksum({"a": array}, {"k": value}) for value in "vw"}
    assert len(known) == 8
    both = {"a": array, "b": array + 1}
    assert _checksum(both, {"k": "v", "l": "w"}) == _checksum(dict(reversed(both.items())), {"l": "w", "k": "v"})


def test_a_file_that_just_fits_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.safetensors"
    save_tensors(path, {"a": np.zeros(2)})
    monkeypatch.setattr(memory, "free_bytes", lambda: path.stat().st_size)
    assert load_tensors(path, "a model")[1] == {}
