from dataclasses import dataclass
from typing import Any, Literal

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.records import from_json


@dataclass(frozen=True)
class Thing:
    size: int
    share: float = 0.5
    name: str | None = None
    pair: tuple[float, float] = (0.0, 1.0)
    rows: tuple[tuple[int, ...], ...] = ()
    kind: Literal["a", "b"] = "a"
    more: dict[str, int] | None = None
    real: bool = False


def test_a_dataclass_comes_back():
    content = {"size": 3, "share": 1, "name": None, "pair": [1, 2.5], "rows": [[1], []], "kind": "b", "real": True}
    assert from_json(Thing, content, "it") == Thing(3, 1, None, (1, 2.5), ((1,), ()), "b", real=True)
    assert from_json(Thing, {"size": "three"}, "it", size=3) == Thing(3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], r"it should be a JSON object, and it is \[1\]"),
        ({"size": 1, "wings": 2}, "it has the unknown field 'wings'; it may come from a newer whatwhere"),
        ({}, "it lacks 'size'"),
        ({"size": True}, "size of it should be a whole number, and True arrived"),
        ({"size": 1.0}, "size of it should be a whole number"),
        ({"size": 1, "share": "x"}, "share of it should be a number"),
        ({"size": 1, "name": 3}, "name of it should be a text"),
        ({"size": 1, "pair": [1]}, "pair of it should be a list"),
        ({"size": 1, "rows": [1]}, "rows of it should be a list"),
        ({"size": 1, "kind": "c"}, "kind of it should be one of a, b"),
        ({"size": 1, "more": []}, "more of it should be"),
        ({"size": 1, "real": 1}, "real of it should be true or false"),
    ],
)
def test_what_does_not_fit_is_named(content: Any, message: str):
    with pytest.raises(WhatwhereError, match=message):
        from_json(Thing, content, "it")
