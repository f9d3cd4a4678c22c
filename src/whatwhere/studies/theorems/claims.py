"""The theorems and the remarks after them (Sections 3.4 and 3.5), as printed and as corrected.

The checks of ``whatwhere theory`` count errors; here each count is held against the statement that the paper prints.
"""

from __future__ import annotations

from collections.abc import Callable

from whatwhere.studies.claim import Claim, Finding
from whatwhere.studies.source import NotTested, Source
from whatwhere.theory.curves import DISCREPANCY

STRONG = 10.0
"""A strong separation is one order of magnitude."""
LONGEST = 100
"""The longest input of Figure 5A."""
ROUNDING = 1e-9


def no_errors(*names: str) -> Callable[[Source], Finding]:
    """The errors of some checks together; there should be none."""

    def measure(source: Source) -> Finding:
        checks = [source.check(name) for name in names]
        errors, inputs = (sum(int(check[part]) for check in checks) for part in ("errors", "inputs"))
        told = "; ".join(check["claim"] for check in checks)
        seen = "; ".join(check["found"] for check in checks if check["found"])
        why = f"{errors} errors in {inputs:,} cases: {told}." + f" Seen: {seen}." * bool(seen)
        return Finding(errors == 0, float(errors), why, None, inputs)

    return measure


def no_counterexample(name: str) -> Callable[[Source], Finding]:
    """How often a statement fails as it is printed; once is enough."""

    def measure(source: Source) -> Finding:
        check = source.check(name)
        count, inputs = int(check["counterexamples"]), int(check["inputs"])
        why = f"It fails in {count:,} of {inputs:,} cases: {check['claim']}; {check['found']}."
        return Finding(count == 0, float(count), why, None, inputs)

    return measure


def positional_cannot_retrieve(source: Source) -> Finding:
    """Refuted by one positional head that computes Retrieval on every input tried."""
    check = source.check("positional_head_can_retrieve")
    refuted = bool(check["passed"])
    why = f"{check['claim']}: {check['errors']} errors on {check['inputs']:,} inputs; {check['found']}."
    why += " The proof needs a head that copies what it attends to (erratum E28)." * refuted
    return Finding(not refuted, float(check["errors"]), why, None, int(check["inputs"]))


def separation(source: Source) -> Finding:
    """The smallest discrepancy of Retrieval over that of Index, at the longest input of Figure 5A."""
    row = next((row for row in source.curve(DISCREPANCY) if row["n"] == LONGEST), None)
    if row is None:
        raise NotTested(f"theory/{DISCREPANCY} does not reach length {LONGEST}.")
    value = row["retrieval_smallest"] / row["index_smallest"]
    why = (
        f"At {LONGEST} tokens Retrieval (angle {row['retrieval_theta']:g}) keeps {row['retrieval_smallest']:.3g}, "
        f"Index (angle {row['index_theta']:g}) {row['index_smallest']:.3g}. Both are exact."
    )
    return Finding(value >= STRONG, value, why)


def nope_keeps_margin(source: Source) -> Finding:
    """The smallest discrepancy of Retrieval without rotation, over the lengths of the table."""
    rows = [row for row in source.theory["retrieval_discrepancy"] if row["theta"] == 0]
    margins = [float(row["smallest"]) for row in rows]
    if not margins:
        raise NotTested("the table of discrepancies has no angle 0.")
    longest = max(int(row["n"]) for row in rows)
    why = (
        f"{min(margins):.4f} to {max(margins):.4f} at lengths up to {longest}, on inputs whose left letters are unique "
        "(others tie; erratum E4)."
    )
    return Finding(min(margins) > 0 and max(margins) - min(margins) < ROUNDING, min(margins), why, None, len(margins))


def _theory(
    id: str, title: str, text: str, paper: str, how: str, threshold: str, measure: Callable[[Source], Finding],
    paper_value: str | None = None,
) -> Claim:  # fmt: skip
    return Claim(id, title, text, paper, how, threshold, measure, paper_value, trained=False)


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
        "T_Index equals Index on every input that is valid for the number task, wherever its integers point.",
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
        "nope-keeps-margin", "Without rotation Retrieval keeps its margin at every length",
        "At angle 0 the discrepancy of Retrieval remains away from zero for arbitrary lengths.",
        "Remark after Theorem 2", "Exact smallest discrepancy at angle 0, over the lengths of the table.",
        "above 0 and the same at every length", nope_keeps_margin,
        "1 - cos(pi/4) = 0.2929",
    ),
)  # fmt: skip
