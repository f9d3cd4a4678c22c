"""Means over windows, and differences window by window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whatwhere.studies.cache.streamed_runs import StreamedSet, can_find_keys, comparison_rows, policy_rows
from whatwhere.studies.cache.tables import CacheSettings, HeadScore, PromptAnswer, WindowLoss

HEADS = [HeadScore(0, head, head, 0, 0, 0, 0, 0, 0, 100) for head in (0, 1)]


def losses(**by_ranking: list[float]) -> list[WindowLoss]:
    """At budget 0.5; ``random`` twice as many as windows, draw after draw."""
    full = [WindowLoss("full", 0, 0.0, at, "a", 3.0 + at) for at in range(3)]
    return full + [
        WindowLoss(ranking, at // 3, 0.5, at % 3, "a", loss)
        for ranking, all_of in by_ranking.items()
        for at, loss in enumerate(all_of)
    ]


def test_a_policy_costs_its_mean_above_the_full_cache(small: CacheSettings):
    sets = [StreamedSet("full", 0, 0.0, frozenset()), StreamedSet("far", 0, 0.5, frozenset({(0, 1)}))]
    answers = [PromptAnswer("far", 0, 0.5, at, 3, at == 0, 0.5 * at) for at in range(4)]
    (row,) = policy_rows(sets, HEADS, losses(far=[3.1, 4.1, 5.4]), answers, small)
    assert (row.ranking, row.budget, row.streamed, row.cache) == ("far", 0.5, 1, pytest.approx(105 / 200))
    assert row.above.value == pytest.approx(0.2) and row.above.n == 3
    assert 0.099 < row.above.low < 0.2 < row.above.high < 0.401
    assert (row.passkey.value, row.passkey.n) == (0.25, 4)
    assert row.key_loss.value == pytest.approx(0.75)


def test_without_prompts_pass_keys_are_undefined(small: CacheSettings):
    sets = [StreamedSet("far", 0, 0.5, frozenset({(0, 1)}))]
    (row,) = policy_rows(sets, HEADS, losses(far=[3.1, 4.1, 5.4]), [], small)
    assert row.passkey.n == row.key_loss.n == 0 and row.passkey.value != row.passkey.value


def test_rankings_are_compared_window_by_window(small: CacheSettings):
    settings = replace(small, rankings=("far", "paper", "random"), budgets=(0.5,))
    rows = losses(far=[3.1, 4.1, 5.1], paper=[3.2, 4.2, 5.2], random=[3.0, 4.0, 5.0, 3.4, 4.4, 5.4])
    found = {(row.ranking, row.other): row.difference for row in comparison_rows(rows, settings)}
    assert list(found) == [("far", "paper"), ("far", "random"), ("paper", "random")]
    assert found["far", "paper"].value == pytest.approx(-0.1)
    assert found["far", "paper"].high == pytest.approx(-0.1)  # windows differ, differences do not
    assert found["paper", "random"].value == pytest.approx(0)  # the mean of both draws


def test_a_model_that_misses_most_keys_with_the_full_cache_cannot_find_keys():
    rows = [PromptAnswer("full", 0, 0.0, at, 3, at < 2, 1.0) for at in range(4)]
    assert can_find_keys(rows)
    assert not can_find_keys([replace(row, right=row.input < 1) for row in rows])
    assert not can_find_keys([replace(row, ranking="far") for row in rows])
