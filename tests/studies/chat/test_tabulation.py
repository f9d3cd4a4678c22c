from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path
from statistics import stdev

import pytest

from whatwhere.studies.chat.logs import Block, Logged
from whatwhere.studies.chat.tables import SIZES, Sample
from whatwhere.studies.chat.tabulation import cells, profile, quoted, screening

GOOD = Sample("m", "one_hop_letter", 16, 1, 1, 1, "right", "right", True, False, 3, 0, "k7")
BAD = replace(GOOD, strict="wrong")


def logged(
    *samples: Sample, model: str = "m", task: str = "one_hop_letter", size: int = 16, run: int = 1, wanted: int = 10
) -> Logged:
    own = [
        replace(sample, model=model, task=task, size=size, run=run, number=number, distance=number)
        for number, sample in enumerate(samples, start=1)
    ]
    return Logged(Path("x"), model, Block(task, size, run), "1", "s", wanted, tuple(own), None)


def counted(right: int, wrong: int, none: int, **about: int) -> Logged:
    nothing = replace(GOOD, strict="no answer")
    return logged(*[GOOD] * right, *[replace(BAD, lenient="wrong")] * wrong, *[nothing] * none, **about)  # pyright: ignore[reportArgumentType]


def test_accuracy_is_over_replies_and_deviations_are_over_runs() -> None:
    (row,) = cells([counted(9, 1, 0, run=1), counted(7, 2, 1, run=2), counted(8, 0, 2, run=3)])
    assert (row.runs, row.accuracy.n, row.planned) == (3, 30, 30)
    assert row.accuracy.value == pytest.approx(0.8)
    assert row.sd == pytest.approx(stdev([0.9, 0.7, 0.8]))
    assert row.accuracy.low < row.accuracy.value < row.accuracy.high
    assert row.no_answer == pytest.approx(3 / 30)
    assert row.lenient == pytest.approx(27 / 30)
    assert row.output_tokens == 3


def test_a_single_run_has_no_deviation_and_a_partial_one_its_counts() -> None:
    (row,) = cells([counted(3, 1, 0), counted(0, 0, 0, size=24)])  # a block without replies is no row
    assert isnan(row.sd)
    assert (row.accuracy.n, row.planned) == (4, 10)


def test_tokens_that_no_provider_told_are_undefined() -> None:
    (row,) = cells([logged(replace(GOOD, output_tokens=None))])
    assert isnan(row.output_tokens)


def test_the_papers_table_is_quoted() -> None:
    rows = quoted()
    assert len(rows) == 60
    assert {row.size for row in rows} == set(SIZES) - {150}
    found = {(row.model, row.task, row.size): (row.mean, row.sd) for row in rows}
    assert found["GPT 5.4", "one_hop_number", 12] == (0.98, 0.01)
    assert found["GPT 5.4", "one_hop_letter", 300] == (0.40, 0.06)
    assert found["Claude Sonnet 3.7", "one_hop_letter", 48] == (0.80, 0.02)


def test_the_profile_counts_each_answer_once_at_its_distance() -> None:
    rows = profile([counted(8, 0, 0), counted(0, 8, 0, run=2)])
    assert [(row.near, row.far) for row in rows] == [(n, n + 1) for n in range(1, 16, 2)]
    assert [row.accuracy.n for row in rows] == [4, 4, 4, 4, 0, 0, 0, 0]
    assert [row.accuracy.value for row in rows[:4]] == [0.5] * 4
    assert isnan(rows[-1].accuracy.value)
    assert [(row.near, row.far) for row in profile([counted(3, 0, 0, size=3)])] == [(1, 1), (2, 2), (3, 3)]


def test_a_model_passes_that_does_the_base_task_and_answers_with_a_token() -> None:
    (row,) = screening([logged(*[GOOD] * 17, *[BAD] * 3), logged(BAD, task="one_hop_number", size=100)])
    assert (row.status, row.why, row.letter.value, row.letter.n) == ("passed", "", 0.85, 20)


def test_a_model_that_cannot_do_the_base_task_is_screened_out() -> None:
    (row,) = screening([logged(*[GOOD] * 16, *[BAD] * 4), logged(GOOD, size=100)])
    assert (row.status, row.why) == ("screened out", "letter accuracy 0.80 at size 16, below 0.85")


def test_a_model_that_thinks_aloud_at_long_sizes_is_screened_out() -> None:
    aloud = replace(GOOD, single_token=False)
    rows = [logged(GOOD), logged(aloud, size=64), logged(*[GOOD] * 18, *[aloud] * 2, size=200)]  # 64 is not long
    (row,) = screening(rows)
    assert row.status == "screened out"
    assert row.why == "one word in 90% of the replies at sizes from 100 on, below 95%"


def test_a_model_whose_reasoning_cannot_be_switched_off_is_screened_out() -> None:
    thinking = replace(GOOD, reasoned=True, reasoning_tokens=50)
    (row,) = screening([logged(GOOD), logged(thinking, size=100)])
    assert row.status == "screened out"
    assert row.why == "reasoning before 100% of the replies at sizes from 100 on"


def test_what_was_not_measured_is_told_and_nothing_is_passed_on_it() -> None:
    (row,) = screening([logged(GOOD, task="one_hop_number"), logged(GOOD, task="multi_hop_letter", size=100)])
    assert (row.status, row.why) == ("not measured", "no replies at letters at size 16 and sizes from 100 on")
    assert isnan(row.letter.value)
    assert (row.letter.n, row.single_token.n) == (0, 0)


def test_models_are_screened_apart() -> None:
    rows = screening([logged(BAD, model="a"), logged(GOOD, model="b")])
    assert [(row.model, row.status) for row in rows] == [("a", "screened out"), ("b", "not measured")]
