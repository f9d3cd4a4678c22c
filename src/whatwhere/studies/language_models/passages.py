"""Text for a language model: files, or ``-`` for standard input; read once, and no further than needed.

A text may be endless (a pipe) or huge, so only its beginning is read: :data:`BYTES_PER_TOKEN` for each token of the
windows, several times more than ordinary text needs.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from select import select
from typing import IO, Any

from whatwhere.errors import WhatwhereError

STDIN = "-"
BYTES_PER_TOKEN = 32
FINGERPRINT = "sha256:"
"""Prefix of the checksum of a text in a manifest: its content determines the results, not its path."""
MANY = 4
"""From this number on, texts are counted and not listed."""
PATIENCE = 60.0
"""Seconds to wait for the first byte of a pipe."""
_LONGEST_CHARACTER = 4
_PART = 1 << 20


@dataclass(frozen=True)
class Passage:
    """The beginning of one text."""

    name: str
    text: str

    @property
    def fingerprint(self) -> str:
        """Its checksum for the manifest."""
        return FINGERPRINT + hashlib.sha256(self.text.encode()).hexdigest()[:16]


def checksum_of(fingerprints: Sequence[str]) -> str:
    """The fingerprint of one text, or one checksum of several, short enough for each row of a table."""
    if len(fingerprints) < 2:
        return " ".join(fingerprints)
    whole = hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:16]
    return f"{len(fingerprints)} texts {FINGERPRINT}{whole}"


def names_of(passages: Sequence[Passage]) -> str:
    """The names of texts; of many, how many they are."""
    if len(passages) > MANY:
        return f"{len(passages)} texts ({passages[0].name} .. {passages[-1].name})"
    return ", ".join(passage.name for passage in passages)


class TextSettings:
    """Base class of settings with texts: a dataclass with a field ``text`` that says how many tokens it needs."""

    text: tuple[str, ...]

    tokens_needed: int
    """Of each text."""

    def check_texts(self, least: int = 0) -> None:
        """Reads the texts, so that errors are found before a model is loaded."""
        if len(self.text) < least:
            raise WhatwhereError("expected a text, got none; name one with --text FILE.")
        if self.text.count(STDIN) > 1:
            raise WhatwhereError(f"expected {STDIN} (standard input) once, got it {self.text.count(STDIN)} times.")
        _ = self.passages

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The beginning of each text, read once; none for a text that is known by its fingerprint alone."""
        sources = [source for source in self.text if not source.startswith(FINGERPRINT)]
        return tuple(read_passage(source, self.tokens_needed) for source in sources)

    def decisive(self) -> dict[str, Any]:
        """What decides the results: of the texts their content, not their place."""
        known = tuple(source for source in self.text if source.startswith(FINGERPRINT))
        settings = {one.name: getattr(self, one.name) for one in fields(self)}  # pyright: ignore[reportArgumentType]
        return settings | {"text": (*known, *(passage.fingerprint for passage in self.passages))}


def read_passage(source: str, tokens: int) -> Passage:
    """Reads the beginning of a text, enough for a number of tokens; its source is a path, or ``-``.

    Raises:
        WhatwhereError: there is no such file, it is empty, or it is not text in UTF-8.
    """
    name = "standard input" if source == STDIN else source
    most = BYTES_PER_TOKEN * tokens
    try:
        if source == STDIN:
            content = _beginning(sys.stdin.buffer.read, most + 1)
        else:
            with _opened(Path(source).expanduser()) as opened:
                content = _beginning(opened.read, most + 1)
    except OSError as error:
        raise WhatwhereError(
            f"expected a text file at {name}, got: {error.strerror or error}; name a file in UTF-8, or - for standard "
            "input."
        ) from error
    cut = len(content) > most
    try:
        text = content[:most].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not (cut and error.reason == "unexpected end of data" and most - error.start < _LONGEST_CHARACTER):
            raise WhatwhereError(
                f"expected text in UTF-8 in {name}, got byte {error.start} that is none; it may be a binary file, "
                "otherwise convert it to UTF-8."
            ) from error
        text = content[: error.start].decode("utf-8-sig")  # a character was cut in two
    if "\0" in text:
        raise WhatwhereError(f"expected text in {name}, got zero bytes; it seems to be a binary file.")
    if not text.strip():
        raise WhatwhereError(f"expected some text in {name}, got an empty one; give another text.")
    return Passage("standard input" if source == STDIN else Path(source).name, text)


def _opened(path: Path) -> IO[bytes]:
    """Opens a file; a pipe is opened once a process writes to it."""
    if not path.is_fifo():
        return path.open("rb")
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not select([pipe], [], [], PATIENCE)[0]:
        os.close(pipe)
        raise WhatwhereError(
            f"expected a text from the pipe {path}, got nothing in {PATIENCE:g} seconds; start what writes to it first."
        )
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


def _beginning(read: Callable[[int], bytes], most: int) -> bytes:
    """Reads at most ``most`` bytes in parts, because Python would allocate memory for all of them at once."""
    found = b""
    while len(found) < most and (part := read(min(_PART, most - len(found)))):
        found += part
    return found
