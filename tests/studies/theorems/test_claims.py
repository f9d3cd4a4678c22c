"""Claims about the theorems, from tables written by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from evidence_among import Verdicts

from whatwhere.studies.evidence import Evidence
from whatwhere.studies.judging import judge
from whatwhere.studies.results import Results
from whatwhere.studies.theorems import THEOREMS
from whatwhere.studies.theorems.claims import CLAIMS
from whatwhere.studies.theorems.measure import CHECKS
from whatwhere.studies.theorems.tables import CheckRow, Discrepancy, LayerMargin

REFUTING = ("out_of_range_inputs", "tied_inputs", "printed_index_bound_fails", "printed_retrieval_bound_fails")


def check(name: str, **changed: Any) -> CheckRow:
    values: dict[str, Any] = {"errors": 0, "counterexamples": 7 if name in REFUTING else 0, "passed": True, **changed}
    return CheckRow(name=name, claim=name, inputs=100, found="", **values)


def margin(head: str, theta: float, smallest: float, n: int = 100) -> Discrepancy:
    return Discrepancy(head, theta, n, 0.1, 0.1, smallest, 0.2)


TABLES: dict[str, list[Any]] = {
    "checks": [check(name) for name in CHECKS],
    "discrepancy": [
        margin("index", 0.866, 0.001), margin("retrieval", 0.0027, 0.1), margin("retrieval", 0, 0.3),
        margin("retrieval", 0, 0.3, 850),
    ],
    "layers": [LayerMargin(0, 18, 0.0866, 100, -2.0), LayerMargin(2, 42, 0.0027, 100, 0.1)],
}  # fmt: skip


def judged(**changed: list[Any]) -> Verdicts:
    results = Results(THEOREMS, THEOREMS.with_settings(), "theory")
    for name, rows in {**TABLES, **changed}.items():
        results.write(name, rows)
    return Verdicts(Evidence.of(results), CLAIMS)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("small_index_inputs", "theorem-1-index"),
        ("random_retrieval_inputs", "theorem-1-retrieval"),
        ("letter_task", "constructions-solve-tasks"),
        ("index_head_is_positional", "constructed-heads-are-pure"),
        ("symbolic_head_cannot_index", "symbolic-cannot-index"),
        ("positional_copier_cannot_retrieve", "positional-cannot-retrieve-by-copying"),
        ("corrected_bounds_hold", "theorem-2-corrected"),
        ("lemma_holds", "lemma-hard-to-softmax"),
        ("softmax_disperses", "softmax-disperses"),
    ],
)
def test_one_error_of_a_check_fails_its_claim(name: str, claim: str) -> None:
    assert judged()[claim].verdict == "holds"
    checks = [check(one, errors=3, passed=False) if one == name else check(one) for one in CHECKS]
    one = judged(checks=checks)[claim]
    assert (one.verdict, one.value) == ("fails", 3)


def test_the_checks_of_a_claim_are_told_with_what_they_saw() -> None:
    def why(**found: str) -> str:
        checks = [replace(check(one), found=found.get(one, "")) for one in CHECKS]
        return judged(checks=checks)["theorem-1-index"].why

    (claim,) = (one for one in CLAIMS if one.id == "theorem-1-index")
    assert isinstance(claim.measure, partial)
    names = claim.measure.keywords["checks"]
    told = f"0 errors in {100 * len(names)} cases: {'; '.join(names)}."
    assert why() == told
    assert why(**{names[0]: "a margin of 2"}) == f"{told} Seen: a margin of 2."


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("printed_index_bound_fails", "theorem-2-index-as-printed"),
        ("printed_retrieval_bound_fails", "theorem-2-retrieval-as-printed"),
    ],
)
def test_a_printed_statement_fails_by_its_counterexamples(name: str, claim: str) -> None:
    one = judged()[claim]
    assert (one.verdict, one.value, one.inputs) == ("fails", 7, 100)
    checks = [check(one, counterexamples=0) if one == name else check(one) for one in CHECKS]
    assert judged(checks=checks)[claim].verdict == "holds"


def test_index_is_undefined_out_of_range_so_that_the_printed_statement_is_ill_posed() -> None:
    one = judged()["theorem-1-index-as-printed"]
    assert (one.verdict, one.value) == ("ill-posed", 7)
    assert one.why.startswith("Index is not defined where an integer points outside the input (erratum E3)")


def test_a_positional_head_that_retrieves_refutes_the_remark() -> None:
    claim = "positional-cannot-retrieve-as-printed"
    assert judged()[claim].verdict == "fails"
    name = "positional_head_can_retrieve"
    checks = [check(one, errors=9, passed=False) if one == name else check(one) for one in CHECKS]
    assert judged(checks=checks)[claim].verdict == "holds"


def test_the_separation_is_that_of_the_exact_discrepancies() -> None:
    assert judged()["discrepancy-separation"].value == pytest.approx(100)
    near = [margin("index", 0.866, 0.05), margin("retrieval", 0.0027, 0.1)]
    assert judged(discrepancy=near)["discrepancy-separation"].verdict == "fails"
    short = [margin("index", 0.866, 0.05, 50), margin("retrieval", 0.0027, 0.1)]
    assert "does not hold length 100" in judged(discrepancy=short)["discrepancy-separation"].why


def test_the_separation_rests_on_the_choice_of_layer() -> None:
    claim = "discrepancy-separation-every-layer"
    one = judged()[claim]
    assert (one.verdict, one.value, one.inputs) == ("fails", 1, 2)
    assert (
        one.why
        == "No margin is left in 1 of 2 layers. Figure 5A shows ID 42; ID 42 (layer 2) has the largest margin, 0.1."
    )
    assert judged(layers=TABLES["layers"][1:])[claim].verdict == "holds"
    assert judged(layers=[LayerMargin(2, 42, 0.0027, 100, 0.0)])[claim].verdict == "fails"
    assert judged(layers=[])[claim].why == "the table of layers does not hold length 100."


def test_a_margin_that_shrinks_is_not_kept() -> None:
    assert judged()["nope-keeps-margin"].value == 0.3
    shrinks = [margin("retrieval", 0, 0.3), margin("retrieval", 0, 0.2, 850)]
    assert judged(discrepancy=shrinks)["nope-keeps-margin"].verdict == "fails"
    assert judged(discrepancy=[])["nope-keeps-margin"].why == "the table of discrepancies has no angle 0."


def test_what_was_not_measured_is_not_tested() -> None:
    missing = judged(checks=[check(name) for name in CHECKS if name != "letter_task"])["constructions-solve-tasks"]
    assert (missing.verdict, missing.missing) == ("not tested", True)
    assert missing.why == "the check 'letter_task' was not made. Make it with: whatwhere theorems"
    assert math.isnan(missing.value)
    empty = Evidence.of(Results(THEOREMS, THEOREMS.with_settings(theta=1.0), "theory"))
    assert {one.verdict for one in judge([empty], CLAIMS)} == {"not tested"}
