from __future__ import annotations

from math import nan
from typing import Any

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.tables import EXAMPLES, RUNS, SIZES, ChatSettings


def test_the_published_settings_are_the_defaults() -> None:
    assert SIZES == (12, 16, 24, 32, 48, 64, 80, 100, 150, 200, 300)
    assert RUNS == (1, 2, 3, 4, 5)
    assert EXAMPLES == 200


def test_a_quick_look_keeps_what_was_chosen() -> None:
    quick = ChatSettings(quick=True, examples=7)
    assert (quick.sizes, quick.runs, quick.examples) == ((16, 32, 100), (1,), 7)
    full = ChatSettings(quick=True, sizes=SIZES, runs=RUNS, examples=EXAMPLES)  # also if it is what a full table has
    assert full.decisive() == ChatSettings().decisive()


def test_speed_and_price_decide_no_result() -> None:
    same = ChatSettings(connections=3, max_retries=0, timeout=5, input_price=1.0, output_price=2.0)
    assert same.decisive() == ChatSettings().decisive()
    quick = ChatSettings(sizes=(16, 32, 100), runs=(1,), examples=40)
    assert ChatSettings(quick=True).decisive() == quick.decisive()
    assert ChatSettings(max_tokens=8).decisive() != same.decisive()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": "two_hop"}, "expected tasks of one_hop_number, .*, got 'two_hop'"),
        ({"sizes": ()}, "expected sizes without repetitions, got none"),
        ({"runs": (1, 1)}, "expected runs without repetitions, got 1, 1"),
        ({"sizes": (0, 12)}, "expected sizes from 1 to 10,000, got 0"),
        ({"sizes": (10**9,)}, "expected sizes from 1 to 10,000, got 1000000000"),
        ({"runs": (-1,)}, "expected runs from 1 to .*, got -1"),
        ({"examples": 0}, "expected examples from 1 to 100,000, got 0"),
        ({"max_tokens": 0}, "expected max_tokens from 1 to 1,000,000, got 0"),
        ({"connections": 0}, "expected connections from 1 to 1,000, got 0"),
        ({"timeout": 0}, "expected timeout from 1 to 86,400, got 0"),
        ({"max_retries": -1}, "expected max_retries of 0 or more, got -1"),
        ({"temperature": nan}, "expected temperature of 0 or more, got nan"),
        ({"input_price": -1.0}, "expected input_price of 0 or more, got -1.0"),
        ({"reasoning": "much"}, "expected a reasoning effort of default, none, .*, got 'much'"),
        ({"base_url": "127.0.0.1:80"}, "expected a base URL such as http://127.0.0.1:8080/v1"),
        ({"base_url": "http://[::1"}, "expected a base URL such as http://127.0.0.1:8080/v1"),
        ({"base_url": "https://me:secret@host/v1"}, "expected a base URL without a user, a password or a query"),
        ({"base_url": "https://host/v1?key=secret"}, "expected a base URL without a user, a password or a query"),
    ],
)
def test_settings_that_ask_nothing_sensible_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message) as raised:
        ChatSettings(**changes)
    assert "secret" not in str(raised.value)
