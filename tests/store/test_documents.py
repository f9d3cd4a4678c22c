import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import parse, plain, read_json, write_json


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    rate: float = 0.5
    kind: Literal["a", "b"] = "a"
    steps: tuple[int, ...] = ()
    limit: int | None = None


def test_json_round_trips(tmp_path: Path):
    write_json(tmp_path / "a.json", {"a": [1, 2.5, None], "ü": "x"})
    assert read_json(tmp_path / "a.json", "it") == {"a": [1, 2.5, None], "ü": "x"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', "it at .* is not valid JSON"),
        ("[1]", "expected a JSON object, got a list"),
        ("null", "expected a JSON object, got null"),
        ("7", "expected a JSON object, got a number"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_what_is_no_json_object_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(WhatwhereError, match=message):
        read_json(tmp_path / "a.json", "it")


def test_a_record_survives_json():
    record = Outer("x", Inner(3), 1, "b", (1, 2), 7)
    assert parse(Outer, plain(record), "it") == record
    assert parse(Outer, {"name": "x", "inner": {"size": 3}}, "it") == Outer("x", Inner(3))


def test_ready_fields_replace_what_the_document_has():
    assert parse(Outer, {"name": "x", "inner": "anything"}, "it", inner=Inner(1)).inner == Inner(1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "it: expected a JSON object, got null"),
        ({"inner": {"size": 1}}, "it: expected the field 'name', got none"),
        ({"name": "x", "inner": {"size": 1}, "colour": 1}, "got 'colour'; it may come from a newer whatwhere"),
        ({"name": 1, "inner": {"size": 1}}, "it, name: expected a valid string, got 1"),
        ({"name": "x", "inner": {"size": "1"}}, "it, inner, size: expected a valid integer, got '1'"),
        ({"name": "x", "inner": {"size": True}}, "it, inner, size: expected a valid integer, got True"),
        ({"name": "x", "inner": []}, "it, inner: expected a JSON object, got a list"),
        ({"name": "x", "inner": {"size": 1}, "kind": "c"}, "it, kind: expected 'a' or 'b', got 'c'"),
        ({"name": "x", "inner": {"size": 1}, "steps": 3}, "it, steps: expected a valid array, got 3"),
        ({"name": "x", "inner": {"size": 1}, "rate": {1, 2}}, "it, rate: expected JSON, got set"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected(content: object, message: str):
    with pytest.raises(WhatwhereError, match=message):
        parse(Outer, content, "it")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["name", "inner", "rate", "kind", "steps", "limit", "x"]), json_values))
@pytest.mark.slow
def test_any_document_ends_in_a_record_or_in_our_own_error(content: dict[str, object]):
    with suppress(WhatwhereError):
        assert isinstance(parse(Outer, content, "it"), Outer)


def test_names_that_are_no_unicode_survive(tmp_path: Path):
    write_json(tmp_path / "t.json", {"name": "a\udcff"})
    assert read_json(tmp_path / "t.json", "it") == {"name": "a\udcff"}


def test_a_record_within_another_becomes_plain() -> None:
    @dataclass(frozen=True)
    class Inner:
        sizes: tuple[int, ...]

    @dataclass(frozen=True)
    class Outer:
        inner: Inner
        share: float

    assert plain(Outer(Inner((1, 2)), float("nan"))) == {"inner": {"sizes": [1, 2]}, "share": None}
    assert plain({"of": Inner((3,))}) == {"of": {"sizes": [3]}}


def test_a_document_is_indented_by_two_and_keeps_its_letters(tmp_path: Path):
    write_json(tmp_path / "a.json", {"ü": [1], "b": {}})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "ü": [\n    1\n  ],\n  "b": {}\n}\n'


def test_a_missing_document_is_named(tmp_path: Path):
    with pytest.raises(WhatwhereError, match=r"expected the settings at .* got no such file"):
        read_json(tmp_path / "a.json", "the settings")


def test_numbers_and_arrays_of_libraries_become_plain():
    assert plain(np.array([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert plain(np.float64(0.5)) == 0.5 and plain(np.int32(3)) == 3
    assert plain([math.nan, math.inf, -math.inf, pd.NA, np.float64("nan")]) == [None] * 5
    assert plain({1: (True, "x", None)}) == {"1": [True, "x", None]}
    assert plain(Inner) is Inner, "a class is no record"


@pytest.mark.parametrize(
    ("value", "kind"),
    [({}, "an object"), ([], "a list"), ("x", "a text"), (True, "true or false"), (None, "null"), (1, "a number"),
     (1.5, "a number"), ((1,), "tuple")],
)  # fmt: skip
def test_what_stands_in_the_place_of_a_record_is_called_by_its_kind(value: object, kind: str):
    if isinstance(value, dict):
        with pytest.raises(WhatwhereError, match="expected the field 'name', got none"):
            parse(Outer, value, "it")
    else:
        with pytest.raises(WhatwhereError, match=f"it: expected a JSON object, got {kind}"):
            parse(Outer, value, "it")
