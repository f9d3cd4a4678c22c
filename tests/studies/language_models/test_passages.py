"""Texts as users name them: files, pipes, standard input, and what is no text."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models import passages
from whatwhere.studies.language_models.passages import BYTES_PER_TOKEN, read_passage


def test_text_is_read_as_it_is(tmp_path: Path):
    file = tmp_path / "text.txt"
    file.write_bytes("\ufeffzwölf\r\nBoxkämpfer".encode())
    found = read_passage(str(file), 100)
    assert (found.name, found.text) == ("text.txt", "zwölf\r\nBoxkämpfer")


@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_no_more_than_needed_is_read_and_no_character_is_cut_in_two(tmp_path: Path, before: int):
    file = tmp_path / "text.txt"
    file.write_text("a" * before + "🦊" * 1000, encoding="utf-8")
    found = read_passage(str(file), 2).text
    assert found.strip("a") == "🦊" * ((2 * BYTES_PER_TOKEN - before) // 4)
    whole = 2 * BYTES_PER_TOKEN - 4 * ((2 * BYTES_PER_TOKEN - before) // 4)
    assert len(found.encode()) <= 2 * BYTES_PER_TOKEN and whole - before < 4


def test_asking_for_more_than_any_machine_holds_reads_what_is_there(tmp_path: Path):
    (tmp_path / "text.txt").write_text("few words")
    assert read_passage(str(tmp_path / "text.txt"), 10**15).text == "few words"


def test_an_endless_pipe_is_read_once_and_left(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        try:
            with pipe.open("wb") as opened:
                while True:
                    opened.write(b"more words " * 1000)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert len(read_passage(str(pipe), 10).text) == 10 * BYTES_PER_TOKEN
    writer.join(10)
    assert not writer.is_alive()


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"some words")))
    found = read_passage("-", 10)
    assert (found.name, found.text) == ("standard input", "some words")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected some text in .*, got an empty one"),
        (b" \n\t", "expected some text in .*, got an empty one"),
        (b"ab\xff\xfe", "got byte 2 that is none; it may be a binary file"),
        (b"ab\xc3", "got byte 2 that is none"),
        (b"ab\0cd", "got zero bytes; it seems to be a binary file"),
        (b"\xff" + b"a" * 1000, "got byte 0 that is none"),
    ],
)
def test_files_that_hold_no_text_are_refused(tmp_path: Path, content: bytes, message: str):
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    with pytest.raises(WhatwhereError, match=message):
        read_passage(str(file), 3)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path):
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(WhatwhereError, match=r"expected a text file at .*, got: .*; name a file in UTF-8"):
            read_passage(str(path), 3)


def test_a_pipe_that_nobody_writes_to_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(passages, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "text")
    with pytest.raises(WhatwhereError, match=r"got nothing in 0\.1 seconds; start what writes to it first"):
        read_passage(str(tmp_path / "text"), 10)
