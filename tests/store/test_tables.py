import io
import math
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.store.tables import columns, from_frame, read_csv, to_frame, write_csv


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    n: int


@dataclass(frozen=True)
class Row:
    step: int
    name: str
    share: Interval
    right: bool
    hop: int | None = None
    note: str | None = None


ROWS = [
    Row(1, 'a "b", c', Interval(0.5, 0.25, 8), True, 3, "x"),
    Row(2, "", Interval(float("nan"), 0.0, 0), False),
    Row(3, "NA", Interval(1.0, 0.5, 2), True, 1, "nan"),
]


def test_nested_estimates_take_several_columns_and_the_value_has_the_plain_name():
    assert list(columns(Row)) == ["step", "name", "share", "share_low", "share_n", "right", "hop", "note"]


def test_rows_come_back_from_csv_as_they_were():
    content = write_csv(to_frame(Row, ROWS))
    back = from_frame(Row, read_csv(Row, content, "it"))
    assert math.isnan(back[1].share.value)
    assert [repr(row) for row in back] == [repr(row) for row in ROWS]


def test_pandas_reads_just_the_documented_columns():
    frame = pd.read_csv(io.BytesIO(write_csv(to_frame(Row, ROWS))))
    assert list(frame) == list(columns(Row))
    assert frame["share"].isna().tolist() == [False, True, False]


def test_a_table_without_rows_keeps_its_columns():
    content = write_csv(to_frame(Row, []))
    assert from_frame(Row, read_csv(Row, content, "it")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("step,", "steps,"), "it: expected the columns step, name"),
        (("\n1,", "\none,"), "it is damaged"),
        (("True", "maybe"), "it is damaged"),
        (("\n1,", "\n1,2,3,4,5,6,7,8,9,10,"), "it is damaged"),
    ],
)
def test_damaged_tables_are_refused(change: tuple[str, str], message: str):
    content = write_csv(to_frame(Row, ROWS)).decode().replace(*change, 1).encode()
    with pytest.raises(WhatwhereError, match=message):
        read_csv(Row, content, "it")


@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_table_or_in_our_own_error(content: bytes):
    with suppress(WhatwhereError):
        read_csv(Row, content, "it")


@given(st.binary(max_size=100))
def test_any_bytes_after_the_header_end_in_a_table_or_in_our_own_error(content: bytes):
    header = ",".join(columns(Row)).encode() + b"\n"
    with suppress(WhatwhereError):
        from_frame(Row, read_csv(Row, header + content, "it"))
