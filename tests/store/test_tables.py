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


def test_numbers_have_ten_digits_and_lines_end_alike():
    frame = to_frame(Interval, [Interval(1 / 3, 1e-12, 1), Interval(float("nan"), 123456789012.5, 2)])
    assert write_csv(frame) == b"value,low,n\n0.3333333333,1e-12,1\n,1.23456789e+11,2\n"


def test_lines_of_windows_are_read_too():
    content = write_csv(to_frame(Row, ROWS)).replace(b"\n", b"\r\n")
    assert len(from_frame(Row, read_csv(Row, content, "it"))) == 3


def test_optional_numbers_and_truths_may_be_missing_and_others_may_not():
    @dataclass(frozen=True)
    class Optional:
        count: int | None
        sure: bool | None
        share: float | None
        name: str

    rows = [Optional(1, True, 0.5, "a"), Optional(None, None, None, "")]
    content = write_csv(to_frame(Optional, rows))
    assert from_frame(Optional, read_csv(Optional, content, "it")) == rows
    assert to_frame(Optional, rows).dtypes.astype(str).tolist()[:3] == ["Int64", "boolean", "float64"]
    with pytest.raises(WhatwhereError, match="it is damaged"):
        read_csv(Interval, b"value,low,n\n1,1,\n", "it")
