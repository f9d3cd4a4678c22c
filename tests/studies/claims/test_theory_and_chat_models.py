"""Claims about the theorems and about chat models, from results written by hand."""

from __future__ import annotations

import math

import pytest

from whatwhere.store.storage import write_csv

SIZES = (12, 32, 100)
LETTER, NUMBER = (0.96, 0.99, 0.85), (0.98, 0.45, 0.08)
"""GPT 5.4 of the paper's table."""


def cells(letter: tuple[float, ...] = LETTER, number: tuple[float, ...] = NUMBER) -> list[tuple[str, str, int, float]]:
    return [
        ("GPT 5.4", task, size, mean)
        for task, means in (("letter", letter), ("number", number))
        for size, mean in zip(SIZES, means, strict=True)
    ]


@pytest.mark.parametrize(
    ("check", "claim"),
    [
        ("small_index_inputs", "theorem-1-index"),
        ("random_retrieval_inputs", "theorem-1-retrieval"),
        ("letter_task", "constructions-solve-tasks"),
        ("number_decomposition", "number-decomposition"),
        ("index_head_is_positional", "constructed-heads-are-pure"),
        ("symbolic_head_cannot_index", "symbolic-cannot-index"),
        ("positional_copier_cannot_retrieve", "positional-cannot-retrieve-by-copying"),
        ("corrected_bounds_hold", "theorem-2-corrected"),
    ],
)
def test_one_error_of_a_check_fails_its_claim(check, claim, world) -> None:
    world.theory()
    assert world.one(claim).verdict == "holds"
    world.theory(**{check: {"errors": 3, "passed": False}})
    one = world.one(claim)
    assert (one.verdict, one.value) == ("fails", 3)


@pytest.mark.parametrize(
    ("check", "claim"),
    [
        ("out_of_range_inputs", "theorem-1-index-as-printed"),
        ("tied_inputs", "theorem-1-retrieval-without-rotation"),
        ("printed_index_bound_fails", "theorem-2-index-as-printed"),
        ("printed_retrieval_bound_fails", "theorem-2-retrieval-as-printed"),
    ],
)
def test_a_printed_statement_fails_by_its_counterexamples(check, claim, world) -> None:
    world.theory()
    one = world.one(claim)
    assert (one.verdict, one.value, one.inputs) == ("fails", 7, 100)
    world.theory(**{check: {"counterexamples": 0}})
    assert world.one(claim).verdict == "holds"


def test_a_positional_head_that_retrieves_refutes_the_remark(world) -> None:
    world.theory()
    assert world.one("positional-cannot-retrieve-as-printed").verdict == "fails"
    world.theory(positional_head_can_retrieve={"errors": 9, "passed": False})
    assert world.one("positional-cannot-retrieve-as-printed").verdict == "holds"


def test_the_separation_is_that_of_the_exact_discrepancies(world) -> None:
    world.theory()
    retrieval = math.cos(98 * 0.0027) - math.cos(math.pi / 4 - 99 * 0.0027)
    index = 1 - max(math.cos(t * 0.866) for t in range(1, 100))
    assert world.one("discrepancy-separation").value == pytest.approx(retrieval / index)


def test_a_margin_that_shrinks_is_not_kept(world) -> None:
    world.theory()
    assert world.one("nope-keeps-margin").value == 0.3
    world.theory(margins=(0.3, 0.2))
    assert world.one("nope-keeps-margin").verdict == "fails"
    world.theory(margins=())
    assert world.one("nope-keeps-margin").why == "the table of discrepancies has no angle 0."


def test_checks_of_an_earlier_version_are_asked_for_anew(world) -> None:
    world.theory(without="number_decomposition")
    one = world.one("number-decomposition")
    assert (one.verdict, one.missing) == ("not tested", True)
    assert "has no check named number_decomposition; it is from an earlier version" in one.why


def test_curves_that_end_early_are_not_judged(world) -> None:
    world.theory()
    write_csv(world.directory / "theory" / "figure-5a-discrepancy.csv", ["n"], [[50]])
    assert "does not reach length 100" in world.one("discrepancy-separation").why


def test_one_size_at_which_numbers_win_is_not_consistently(world) -> None:
    world.llm(cells())
    judged = world.judged()
    assert judged["llm-letter-above-number"].verdict == "fails"
    assert "Not so: GPT 5.4 at 12." in judged["llm-letter-above-number"].why
    assert judged["llm-letter-above-number"].value == pytest.approx(2 / 3)
    assert judged["llm-letter-above-number"].inputs == 1000
    assert (judged["llm-number-falls"].verdict, judged["llm-letter-stays"].verdict) == ("holds", "holds")
    assert judged["llm-number-falls"].value == pytest.approx(0.02)


def test_a_limit_that_is_only_reached_is_not_kept(world) -> None:
    world.llm(cells(letter=(0.92, 0.88, 0.86)))
    assert world.one("llm-letter-stays").verdict == "fails"


def test_quoted_numbers_are_told_and_not_judged(world) -> None:
    world.llm(cells(), source="quoted")
    one = world.one("llm-letter-above-number")
    assert (one.verdict, one.missing) == ("not tested", True)
    assert one.why.startswith("no chat model was measured here. The paper's own numbers: Letter above number in 2 of 3")


def test_without_a_table_the_papers_own_numbers_are_told(world) -> None:
    judged = world.judged()
    assert (
        "Letter above number in 29 of 30 models and sizes. Not so: GPT 5.4 at 12."
        in judged["llm-letter-above-number"].why
    )
    assert "letter at size 32: GPT 5.4 0.99" in judged["llm-letter-stays"].why
    assert "Claude Sonnet 3.7 0.88" in judged["llm-letter-stays"].why


def test_solvers_and_our_own_models_are_no_chat_models(world) -> None:
    world.llm([(f"reference/{name}", task, size, mean) for name, task, size, mean in cells()])
    assert world.one("llm-number-falls").verdict == "not tested"


def test_chat_models_measured_on_one_task_or_other_sizes_are_not_judged(world) -> None:
    world.llm([("m", "number", 12, 0.9)])
    judged = world.judged()
    assert judged["llm-letter-above-number"].why == "no model was measured on both tasks at one size."
    assert judged["llm-number-falls"].why == "no model was measured on the number task at size 32."
