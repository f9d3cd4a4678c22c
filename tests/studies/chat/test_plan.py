from __future__ import annotations

from typing import Any

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.plan import QUICK, Cell, Plan, estimate, prompt_tokens
from whatwhere.studies.chat.providers import Provider

PERFECT = Provider("reference/perfect")


def test_the_full_table_of_three_models_is_66000_calls() -> None:
    assert 3 * Plan(provider=PERFECT).calls == 66_000
    assert Plan(provider=PERFECT, **QUICK).calls == 240  # pyright: ignore[reportArgumentType]


def test_cells_are_every_combination_once_and_whole_runs_come_first() -> None:
    plan = Plan(provider=PERFECT, sizes=(12, 16), runs=(1, 2))
    assert len(set(plan.cells)) == len(plan.cells) == 8
    assert [cell.run for cell in plan.cells] == [1] * 4 + [2] * 4


def test_the_estimate_counts_what_is_left() -> None:
    plan = Plan(provider=PERFECT, sizes=(12, 300), runs=(1,), examples=10)
    whole = estimate(plan, {})
    assert (whole.calls, whole.output_tokens) == (40, 160)
    assert whole.input_tokens == 10 * sum(prompt_tokens(cell) for cell in plan.cells)
    part = estimate(plan, {Cell("one_hop_letter", 300, 1): 10, Cell("one_hop_number", 12, 1): 4})
    assert part.calls == 26
    assert part.input_tokens < whole.input_tokens
    assert estimate(plan, dict.fromkeys(plan.cells, 10)).input_tokens == 0
    assert whole.dollars((2.0, 10.0)) == pytest.approx((2 * whole.input_tokens + 10 * 160) / 1e6)


def test_longer_windows_cost_more_tokens() -> None:
    number, letter = (prompt_tokens(Cell(f"one_hop_{task}", 300, 1)) for task in ("number", "letter"))
    assert number - prompt_tokens(Cell("one_hop_number", 1, 1)) == 299
    assert letter - prompt_tokens(Cell("one_hop_letter", 1, 1)) == 2 * 299  # a letter and a digit each


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ("two_hop",)}, "the tasks are one_hop_number, .*, and 'two_hop' arrived"),
        ({"sizes": ()}, r"sizes must be a list without repetitions, and \(\) arrived"),
        ({"runs": (1, 1)}, "runs must be a list without repetitions"),
        ({"sizes": (0, 12)}, "sizes must be 1 or more, and 0 arrived"),
        ({"examples": 0}, "examples must be 1 or more, and 0 arrived"),
        ({"max_tokens": 0}, "max_tokens must be 1 or more, and 0 arrived"),
    ],
)
def test_a_plan_that_asks_nothing_sensible_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        Plan(provider=PERFECT, **changes)
