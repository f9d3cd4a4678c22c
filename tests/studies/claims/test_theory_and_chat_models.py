"""Claims about the theorems, from results written by hand."""

from __future__ import annotations

import math

import pytest

from whatwhere.store.storage import write_csv


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
