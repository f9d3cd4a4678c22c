from __future__ import annotations

import sys
from pathlib import Path

import pytest

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.studies.chat.logs import Block, read_logs
from whatwhere.studies.measuring import study

pytestmark = [  # of inspect-ai: an old name of tenacity's, and what its event loop leaves open
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


def ask(out: Path, examples: int) -> None:
    study("chat", "reference/perfect", out=out, tasks="one_hop_letter", sizes=(12,), runs=(1,), examples=examples)


@pytest.mark.slow  # inspect-ai loads the libraries of all providers
@pytest.mark.usefixtures("tidy")
def test_a_block_counts_once_and_different_sequences_are_not_averaged(tmp_path: Path) -> None:
    ask(tmp_path / "a", 2)
    ask(tmp_path / "b", 3)
    (logged,) = read_logs([tmp_path / "a", tmp_path / "a", tmp_path / "nothing"])
    assert (logged.model, logged.wanted, len(logged.samples)) == ("reference/perfect", 2, 2)
    assert logged.block == Block("one_hop_letter", 12, 1)
    with pytest.raises(WhatwhereError, match=r"expected one set of questions for reference/perfect, .*, got two, in"):
        read_logs([tmp_path])


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "2026-01-01T00-00-00-00-00_one-hop-letter_abc.eval").write_bytes(b"PK, but no archive")
    with pytest.raises(WhatwhereError, match=r"one-hop-letter_abc\.eval cannot be read: .* Remove it, and run again"):
        read_logs([tmp_path])


def test_without_the_extra_its_installation_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'whatwhere\[llm\]'"):
        read_logs([tmp_path])
