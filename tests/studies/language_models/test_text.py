"""Text into windows, and query positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.text import cut_windows, read_text_file, spread_queries


class Words:
    """A tokenizer that numbers the words of a text, after a first token if it has one."""

    def __init__(self, first: int | None = None, *, used: bool = True) -> None:
        self.bos_token_id, self.used = first, used

    def __call__(self, text: str, add_special_tokens: bool = True, **_: Any) -> dict[str, list[int]]:
        start = [self.bos_token_id] if self.bos_token_id is not None and self.used and add_special_tokens else []
        return {"input_ids": start + list(range(10, 10 + len(text.split())))}


def cut(text: str, tokenizer: Words, tokens: int, windows: int) -> list[list[int]]:
    return cut_windows(text, tokenizer, tokens=tokens, windows=windows).tolist()  # pyright: ignore[reportArgumentType]


def test_windows_follow_each_other_and_have_equal_length():
    assert cut("a b c d e f g h", Words(), 3, 5) == [[10, 11, 12], [13, 14, 15]]
    assert cut("a b c d e f g h", Words(), 3, 1) == [[10, 11, 12]]


def test_a_short_text_is_one_shorter_window():
    assert cut("a b c d", Words(), 100, 5) == [[10, 11, 12, 13]]


def test_every_window_begins_as_the_tokenizer_begins_a_text():
    assert cut("a b c d e", Words(1), 3, 5) == [[1, 10, 11], [1, 12, 13]]
    assert cut("a b c", Words(1, used=False), 3, 5) == [[10, 11, 12]]


@pytest.mark.parametrize(("text", "first", "found"), [("a b", None, 2), ("a", 1, 2)])
def test_a_text_of_fewer_than_three_tokens_is_refused(text: str, first: int | None, found: int):
    with pytest.raises(WhatwhereError, match=f"at least 3 tokens was expected .* and it has {found}"):
        cut(text, Words(first), 50, 1)


@pytest.mark.parametrize(("tokens", "windows"), [(2, 1), (9, 0)])
def test_windows_too_short_or_none_are_refused(tokens: int, windows: int):
    with pytest.raises(WhatwhereError, match=f"at least one window .* and {windows} of {tokens} were asked for"):
        cut("a b c d", Words(), tokens, windows)


def test_query_positions():
    assert spread_queries("last", 10) == [9]
    assert spread_queries("all", 5) == [2, 3, 4]
    assert spread_queries("3", 100) == [50, 74, 99]
    assert spread_queries("1", 100) == [99]
    assert spread_queries("50", 6) == [3, 4, 5]
    assert spread_queries("2", 3) == [2]


@pytest.mark.parametrize("asked", ["0", "-1", "many", "2.5", ""])
def test_other_query_positions_are_refused(asked: str):
    with pytest.raises(WhatwhereError, match="last, all or how many"):
        spread_queries(asked, 10)


def test_text_is_read_as_it_is(tmp_path: Path):
    file = tmp_path / "text.txt"
    file.write_bytes("\ufeffzwölf\r\nBoxkämpfer".encode())
    assert read_text_file(file) == "zwölf\r\nBoxkämpfer"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"ab\xff\xfe", "byte 2 is none; it may be a binary file"),
        (b"ab\0cd", "holds zero bytes; it seems to be a binary file"),
    ],
)
def test_files_that_hold_no_text_are_refused(tmp_path: Path, content: bytes, message: str):
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    with pytest.raises(WhatwhereError, match=message):
        read_text_file(file)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path):
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(WhatwhereError, match="a text file was expected at"):
            read_text_file(path)


def test_windows_are_tensors_of_ids():
    found = cut_windows("a b c", Words(), tokens=3, windows=1)  # pyright: ignore[reportArgumentType]
    assert found.dtype == torch.long
