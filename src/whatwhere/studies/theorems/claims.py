"""The theorems and the remarks after them (Sections 3.4 and 3.5), as printed and as corrected.

The checks of this study count errors; here each count is compared with the statement that the paper prints.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from whatwhere.studies.claim import Claim, Finding
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.theorems.tables import CheckRow, Discrepancy, LayerMargin
from whatwhere.theory.printed import INDEX_THETA, RETRIEVAL_THETA

STRONG = 10.0
"""A strong separation is one order of magnitude."""
LONGEST = 100
"""The longest input of Figure 5A."""
ROUNDING = 1e-9


def check_named(evidence: Evidence, name: str) -> CheckRow:
    """One check of the study.

    Raises:
        NotTested: it was not made.
    """
    for row in evidence.rows("theorems", None, "checks", CheckRow):
        if row.name == name:
            return row
    raise NotTested(f"the check {name!r} was not made. Make it with: whatwhere theorems", missing=True)


def no_errors(*names: str) -> Callable[[Evidence], Finding]:
    """The errors of some checks together; there should be none."""

    def measure(evidence: Evidence) -> Finding:
        checks = [check_named(evidence, name) for name in names]
        errors, inputs = sum(check.errors for check in checks), sum(check.inputs for check in checks)
        stated = "; ".join(check.claim for check in checks)
        seen = "; ".join(check.found for check in checks if check.found)
        why = f"{errors} errors in {inputs:,} cases: {stated}." + f" Seen: {seen}." * bool(seen)
        return Finding(errors == 0, float(errors), why, None, inputs)

    return measure


def no_counterexample(name: str) -> Callable[[Evidence], Finding]:
    """How often a statement fails as it is printed; once is enough."""

    def measure(evidence: Evidence) -> Finding:
        check = check_named(evidence, name)
        why = f"It fails in {check.counterexamples:,} of {check.inputs:,} cases: {check.claim}; {check.found}."
        return Finding(check.counterexamples == 0, float(check.counterexamples), why, None, check.inputs)

    return measure


def positional_cannot_retrieve(evidence: Evidence) -> Finding:
    """Refuted by one positional head that computes Retrieval on every input tried."""
    check = check_named(evidence, "positional_head_can_retrieve")
    why = f"{check.claim}: {check.errors} errors on {check.inputs:,} inputs; {check.found}."
    why += " The proof needs a head that copies what it attends to (erratum E28)." * check.passed
    return Finding(not check.passed, float(check.errors), why, None, check.inputs)


def separation(evidence: Evidence) -> Finding:
    """The smallest discrepancy of Retrieval over that of Index, at the longest input of Figure 5A."""
    rows = evidence.rows("theorems", None, "discrepancy", Discrepancy)
    margins = {(row.head, row.theta): row.smallest for row in rows if row.n == LONGEST}
    try:
        retrieval, index = margins["retrieval", RETRIEVAL_THETA], margins["index", INDEX_THETA]
    except KeyError:
        raise NotTested(f"the table of discrepancies does not hold length {LONGEST} at the figure's angles.") from None
    why = (
        f"At {LONGEST} tokens Retrieval (angle {RETRIEVAL_THETA:g}) keeps {retrieval:.3g}, "
        f"Index (angle {INDEX_THETA:g}) {index:.3g}. Both are exact."
    )
    return Finding(retrieval / index >= STRONG, retrieval / index, why)


def margin_in_every_layer(evidence: Evidence) -> Finding:
    """In how many layers Retrieval has lost its margin at the longest input of Figure 5A."""
    rows = [row for row in evidence.rows("theorems", None, "layers", LayerMargin) if row.n == LONGEST]
    if not rows:
        raise NotTested(f"the table of layers does not hold length {LONGEST}.")
    failed = [row for row in rows if row.smallest <= 0]
    best = max(rows, key=lambda row: row.smallest)
    why = (
        f"No margin is left in {len(failed)} of {len(rows)} layers. Figure 5A shows ID 42; the most margin has "
        f"ID {best.frequency_id} (layer {best.layer}), {best.smallest:.3g}."
    )
    return Finding(not failed, float(len(failed)), why, None, len(rows))


def nope_keeps_margin(evidence: Evidence) -> Finding:
    """The smallest discrepancy of Retrieval without rotation, over the lengths of the table."""
    rows = evidence.rows("theorems", None, "discrepancy", Discrepancy)
    rows = [row for row in rows if (row.head, row.theta) == ("retrieval", 0)]
    if not rows:
        raise NotTested("the table of discrepancies has no angle 0.")
    margins, longest = [row.smallest for row in rows], max(row.n for row in rows)
    why = (
        f"{min(margins):.4f} to {max(margins):.4f} at lengths up to {longest}, on inputs whose left letters are unique "
        "(others tie; erratum E4)."
    )
    return Finding(min(margins) > 0 and max(margins) - min(margins) < ROUNDING, min(margins), why, None, len(margins))


_theory = partial(Claim, trained=False)
_NONE = "no error"
_THEOREM_1 = "Theorem 1 (Feasibility), Section 3.4 and its proof"
_THEOREM_2 = "Theorem 2 (Robustness), Section 3.5 and its proof"
_REMARK = "Remark after Theorem 1, and its proof"

CLAIMS = (
    _theory(
        "theorem-1-index", "Theorem 1, Index: one RoPE layer computes it",
        "T_Index, with a two-dimensional attention head, equals Index on inputs whose integers point inside them.",
        _THEOREM_1,
        "Inputs on which hard or softmax attention errs at any position: all small ones, and random ones of 17 tokens.",
        _NONE, no_errors("small_index_inputs", "random_index_inputs"),
    ),
    _theory(
        "theorem-1-index-as-printed", "Theorem 1, Index, as printed: on every valid input",
        "T_Index equals Index on every input that is valid for the number task, wherever its integers point. "
        "Index is not defined out of range; here such an integer stays as it is (erratum E3).",
        _THEOREM_1, "Inputs of the task with unconstrained distractors on which hard attention errs somewhere.",
        "none", no_counterexample("out_of_range_inputs"),
    ),
    _theory(
        "theorem-1-retrieval", "Theorem 1, Retrieval: one RoPE layer computes it",
        "T_Retrieval, with a two-dimensional attention head, equals Retrieval on inputs with unique left letters.",
        _THEOREM_1,
        "Inputs on which hard or softmax attention errs at any position: all small ones, and random ones of 17 tokens.",
        _NONE, no_errors("small_retrieval_inputs", "random_retrieval_inputs"),
    ),
    _theory(
        "theorem-1-retrieval-without-rotation", "Theorem 1, Retrieval: also without rotation, on every valid input",
        "T_Retrieval equals Retrieval on every valid input at angle 0 (NoPE) too, of which the next remark speaks.",
        f"{_THEOREM_1}; remark after Theorem 2",
        "Inputs of the letter task on which hard attention at angle 0 errs somewhere.",
        "none", no_counterexample("tied_inputs"),
    ),
    _theory(
        "constructions-solve-tasks", "The constructions, applied once per hop, solve both tasks",
        "Iterating T_Index and T_Retrieval solves the multi-hop tasks.",
        "Sections 3.2 and 3.4", "Errors on the test splits of both tasks, softmax attention.",
        _NONE, no_errors("number_task", "letter_task"),
    ),
    _theory(
        "constructed-heads-are-pure", "T_Index is purely positional, T_Retrieval purely symbolic",
        "The constructed heads are pure; for T_Retrieval this is exact only without rotation.",
        _REMARK,
        "Inputs on which the positional score of T_Index or the symbolic one of T_Retrieval at angle 0 is below 1.",
        "none", no_errors("index_head_is_positional", "retrieval_head_is_symbolic_without_rotation"),
    ),
    _theory(
        "symbolic-cannot-index", "A purely symbolic head cannot compute Index",
        "Whatever its weights, a symbolic head is wrong on one of two inputs that differ by a swap.",
        _REMARK, "Heads, one sought by hand and the others random, that are right on both inputs of such a pair.",
        "none", no_errors("symbolic_head_cannot_index"),
    ),
    _theory(
        "positional-cannot-retrieve-as-printed", "A purely positional head cannot compute Retrieval (as printed)",
        "No purely positional head computes Retrieval.",
        _REMARK, "Errors of a positional head that was built to compute Retrieval, on random inputs of 17 tokens.",
        "at least one error", positional_cannot_retrieve,
    ),
    _theory(
        "positional-cannot-retrieve-by-copying", "A purely positional head that copies cannot compute Retrieval",
        "The corrected remark: if the output is what attention copies, such a head is wrong on one of two inputs.",
        f"{_REMARK}; erratum E28", "Positional copying heads that are right on both inputs of such a pair.",
        "none", no_errors("positional_copier_cannot_retrieve"),
    ),
    _theory(
        "theorem-2-index-as-printed", "Theorem 2, Index, as printed",
        "The discrepancy of T_Index, the largest over inputs, is at most min(1 - cos theta, 2 pi^2 / n^2).",
        _THEOREM_2,
        "Lengths from 2 to 1,000, at three angles, at which the exact largest discrepancy is above the bound.",
        "none", no_counterexample("printed_index_bound_fails"),
    ),
    _theory(
        "theorem-2-retrieval-as-printed", "Theorem 2, Retrieval, as printed",
        "The discrepancy of T_Retrieval is at most 1 - cos(omega - n theta).",
        _THEOREM_2,
        "Lengths, at two angles, at which even the exact smallest discrepancy is above the bound, while there is one.",
        "none", no_counterexample("printed_retrieval_bound_fails"),
    ),
    _theory(
        "theorem-2-corrected", "Theorem 2, corrected",
        "With the smallest discrepancy, and with omega - (n-1) theta for Retrieval, the bounds hold at every length.",
        f"{_THEOREM_2}; errata E5 and E6",
        "Exact discrepancies above their corrected bound: Index to 1,000 tokens, Retrieval as far as it has a margin.",
        "none", no_errors("corrected_bounds_hold"),
    ),
    _theory(
        "discrepancy-separation", "Retrieval keeps its margin where Index loses it",
        "There is a strong separation between Index and Retrieval in how their discrepancies decay with length.",
        "Remark after Theorem 2, Figure 5A",
        f"Exact smallest discrepancy of Retrieval over that of Index at {LONGEST} tokens, at the angles of Figure 5A.",
        f"at least {STRONG:g}: strong is an order of magnitude", separation,
        "66 for the printed bounds",
    ),
    _theory(
        "discrepancy-separation-every-layer", "Retrieval keeps a margin in every layer, not just in that of Figure 5A",
        "The separation of Figure 5A does not rest on the choice of layer: every letter layer has a margin left.",
        "Figure 5A and the table of frequencies; erratum E29",
        f"Letter layers whose printed frequency leaves Retrieval no exact margin at {LONGEST} tokens.",
        "none", margin_in_every_layer,
    ),
    _theory(
        "nope-keeps-margin", "Without rotation Retrieval keeps its margin at every length",
        "At angle 0 the discrepancy of Retrieval remains away from zero for arbitrary lengths.",
        "Remark after Theorem 2", "Exact smallest discrepancy at angle 0, over the lengths of the table.",
        "above 0 and the same at every length", nope_keeps_margin,
        "1 - cos(pi/4) = 0.2929",
    ),
)  # fmt: skip
