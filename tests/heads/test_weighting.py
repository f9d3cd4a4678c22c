from __future__ import annotations

import math

import numpy as np
import pytest
from checked_types import unchecked

from whatwhere.errors import WhatwhereError
from whatwhere.heads.weighting import FIRST_QUERY, READINGS, TAU, TAUS, Weighting, band, reading_mask
from whatwhere.machine.limits import LEAST_TAU
from whatwhere.tasks import LetterTask, NumberTask


def test_the_default_tau_is_the_authors_and_begins_the_band() -> None:
    assert TAU == TAUS[0] == 1e-4
    assert [weighting.tau for weighting in band()] == [1e-4, 1e-3, 1e-2, 0.1]


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan, math.inf])
def test_tau_must_be_above_0(tau: float) -> None:
    with pytest.raises(WhatwhereError, match="expected a tau above 0, got"):
        Weighting(tau)


def test_last_reads_one_query_and_all_reads_from_the_third_token_on() -> None:
    assert reading_mask("last", 5, 2).tolist() == [[False] * 4 + [True]] * 2
    assert reading_mask("all", 5, 2).tolist() == [[False, False, True, True, True]] * 2


def test_path_reads_the_last_token_and_the_pointers_but_not_the_answer() -> None:
    paths = np.array([[5, 4, 2, 0], [5, 1, -1, -1]])
    mask = reading_mask("path", 6, 2, paths)
    assert [np.flatnonzero(row).tolist() for row in mask] == [[2, 4, 5], [5]]


@pytest.mark.parametrize("task", [NumberTask(), LetterTask()])
def test_path_reads_as_many_queries_as_an_input_has_hops(task: NumberTask | LetterTask) -> None:
    batch = task.sample(40, seed=0)
    mask = reading_mask("path", 17, 40, batch.paths)
    assert (mask.sum(1) == batch.hops).all()
    assert mask[:, -1].all()


def test_impossible_readings_are_refused() -> None:
    with pytest.raises(WhatwhereError, match="expected a reading of last, path, all, got 'first'"):
        reading_mask("first", 5, 2)
    with pytest.raises(WhatwhereError, match=r"expected the paths of 2 inputs, got none; pass paths=batch\.paths"):
        reading_mask("path", 5, 2)
    with pytest.raises(WhatwhereError, match="expected the paths of 2 inputs, got 3"):
        reading_mask("path", 5, 2, np.zeros((3, 2), int))


def test_the_papers_score_is_the_default() -> None:
    assert Weighting() == Weighting(tau=1e-4, renormalised=False, among=None)


def test_the_least_tau_is_taken_and_less_is_not() -> None:
    assert Weighting(LEAST_TAU).tau == LEAST_TAU == 1e-30
    with pytest.raises(
        WhatwhereError, match=r"expected a tau above 0, got 5e-31; 1e-30 is the least, 0.0001 the default"
    ):
        Weighting(LEAST_TAU / 2)
    with unchecked(), pytest.raises(WhatwhereError, match="expected a tau above 0, got x"):
        Weighting("x")  # pyright: ignore[reportArgumentType]


def test_all_begins_where_a_query_has_two_keys_before_it() -> None:
    assert FIRST_QUERY == 2 and READINGS == ("last", "path", "all")
    assert reading_mask("all", 2, 1).tolist() == [[False, False]]


def test_a_path_of_one_position_has_no_pointer() -> None:
    assert not reading_mask("path", 3, 1, np.array([[2, -1]])).any()
