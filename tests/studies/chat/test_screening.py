from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path

from whatwhere.studies.chat.extraction import Verdict
from whatwhere.studies.chat.logs import Answer, Logged
from whatwhere.studies.chat.plan import Cell, Plan
from whatwhere.studies.chat.providers import Provider
from whatwhere.studies.chat.screening import screen, screening_cells

GOOD = Answer(1, 1, Verdict.RIGHT, Verdict.RIGHT, True, False, 3, 0, "k7")
BAD = replace(GOOD, strict=Verdict.WRONG)


def logged(task: str, size: int, *answers: Answer, model: str = "m") -> Logged:
    return Logged(Path("x"), model, Cell(task, size, 1), "1", "s", len(answers), answers, None, True)


def test_a_model_passes_that_does_the_base_task_and_answers_with_a_token() -> None:
    (row,) = screen([logged("one_hop_letter", 16, *[GOOD] * 17, *[BAD] * 3), logged("one_hop_number", 100, BAD)])
    assert (row.status, row.why, row.letter) == ("passed", "", 0.85)


def test_a_model_that_cannot_do_the_base_task_is_screened_out() -> None:
    (row,) = screen([logged("one_hop_letter", 16, *[GOOD] * 16, *[BAD] * 4), logged("one_hop_letter", 100, GOOD)])
    assert row.status == "screened out"
    assert row.why == "letter accuracy 0.80 at size 16, below 0.85"


def test_a_model_that_thinks_aloud_at_long_sizes_is_screened_out() -> None:
    aloud = replace(GOOD, single_token=False)
    (row,) = screen([
        logged("one_hop_letter", 16, GOOD), logged("one_hop_letter", 64, aloud),  # 64 is not long
        logged("one_hop_letter", 200, *[GOOD] * 18, *[aloud] * 2),
    ])  # fmt: skip
    assert row.status == "screened out"
    assert row.why == "one word in 90% of the replies at sizes from 100 on, below 95%"


def test_a_model_whose_reasoning_cannot_be_switched_off_is_screened_out() -> None:
    thinking = replace(GOOD, reasoned=True, reasoning_tokens=50)
    (row,) = screen([logged("one_hop_letter", 16, GOOD), logged("one_hop_number", 100, thinking)])
    assert row.status == "screened out"
    assert row.why == "reasoning before 100% of the replies at sizes from 100 on"


def test_what_was_not_measured_is_said_and_nothing_is_passed_on_it() -> None:
    (row,) = screen([logged("one_hop_number", 16, GOOD)])
    assert row.status == "not measured"
    assert row.why == "no replies at letters at size 16 and sizes from 100 on"
    assert isnan(row.letter)
    assert (row.letter_samples, row.long_samples) == (0, 0)


def test_models_are_screened_apart() -> None:
    rows = screen([logged("one_hop_letter", 16, BAD, model="a"), logged("one_hop_letter", 16, GOOD, model="b")])
    assert [(row.model, row.status) for row in rows] == [("a", "screened out"), ("b", "not measured")]


def test_screening_needs_one_run_of_the_base_size_and_the_shortest_long_one() -> None:
    plan = Plan(provider=Provider("reference/perfect"))
    assert set(screening_cells(plan)) == {
        Cell("one_hop_letter", 16, 1), Cell("one_hop_letter", 100, 1), Cell("one_hop_number", 100, 1),
    }  # fmt: skip
