from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import numpy as np
import pytest


def follow_by_hand(words: list[str], number: bool) -> list[int]:
    """The path of one sequence, read off its text, one hop at a time: the slow oracle."""
    path = [len(words) - 1]
    while True:
        here, word = path[-1], words[path[-1]]
        if number and word.isdigit():
            path.append(here - int(word))
        elif not number and word[1].isalpha():
            matches = {w for w in words[:here] if w[0] == word[1]}
            assert len(matches) == 1, f"{word} points at {matches}"
            path.append(words.index(matches.pop()))
        else:
            return path
        assert path[-1] >= 0


@pytest.fixture(scope="session")
def by_hand() -> Callable[[list[str], bool], list[int]]:
    return follow_by_hand


@pytest.fixture(scope="session")
def digest() -> Callable[..., str]:
    """The first digits of the checksum of some arrays: what is drawn from a seed must stay what it was."""

    def of(*arrays: np.ndarray) -> str:
        return sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:12]

    return of
