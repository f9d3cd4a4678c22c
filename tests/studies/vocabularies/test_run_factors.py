from __future__ import annotations

from dataclasses import replace

import pytest
from vocabularies_world import config_of

from whatwhere.errors import WhatwhereError
from whatwhere.studies.vocabularies.run_factors import conditions_of, sizes_of
from whatwhere.tasks import LetterTask, NumberTask


def test_sizes_count_items_and_meanings_and_not_how_they_are_spelled():
    atomic, spelled = LetterTask(letters=16), LetterTask(letters=16, parts=4)
    assert sizes_of(atomic) == {"length": 17, "hops": 4, "vocabulary": 16 * 24, "parts": 1}
    assert sizes_of(spelled) == {**sizes_of(atomic), "parts": 4}
    atomic, spelled = NumberTask(integers=63), NumberTask(integers=8, parts=2)
    assert sizes_of(spelled) == {**sizes_of(atomic), "parts": 2}


def test_a_condition_is_what_differs_from_the_most_frequent_sizes():
    configs = {
        "a": config_of(letters=8),
        "b": config_of(letters=8, max_hops=3),
        "c": config_of(letters=16),
        "d": config_of(letters=8, parts=2, target=5),
        "e": config_of(letters=8, seed=21),
    }
    assert conditions_of(configs) == {
        "a": "base", "b": "hops 3", "c": "vocabulary 320", "d": "length 10, parts 2", "e": "base",
    }  # fmt: skip


def test_runs_that_differ_in_something_else_are_refused():
    fast = config_of(letters=16)
    fast = replace(fast, schedule=replace(fast.schedule, peak=0.5))
    with pytest.raises(WhatwhereError, match=r"differ in sizes and seed alone, got a with peak 0.001 and b with 0.5"):
        conditions_of({"a": config_of(letters=8), "b": fast})


def test_two_runs_of_the_same_sizes_and_seed_are_refused():
    configs = {"a": config_of(letters=8), "b": config_of(letters=8, target=3, context=5)}
    with pytest.raises(WhatwhereError, match=r"one run for each condition and seed, got a and b, which share 'base'"):
        conditions_of(configs)
