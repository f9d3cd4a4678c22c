"""Addresses in object storage, on every command line: the commands see the local paths that stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from whatwhere.cli.console import note
from whatwhere.store import addresses as remote

_KNOW_ADDRESSES = ("train", "sweep")
"""Commands of several processes, each of which fetches what it needs itself."""


@contextmanager
def paths_for_addresses(words: Sequence[str]) -> Iterator[list[str]]:
    """Yields a command line with each address (``s3://bucket/run``, ``--out=s3://...``) fetched and made a path.

    When the command has ended, what its helpers wrote is sent as well.

    Raises:
        WhatwhereError: an address cannot be reached.
    """
    plain = not words or words[0] in _KNOW_ADDRESSES or {"-h", "--help"} & set(words)
    try:
        yield list(words) if plain else [_path(word) for word in words]
    except SystemExit:  # how commands end, well or not; after an error nothing more is tried
        remote.send_rest()
        raise


def _path(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{option}{equals}{remote.local(value, note)}" if remote.is_stored(value) else word
