"""The theorems and the remarks after them (Sections 3.4 and 3.5), as printed and as corrected.

The checks of this study count errors; here each count is compared with the statement that the paper prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whatwhere.studies.claim import Finding, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.theorems.tables import CheckRow, Discrepancy, LayerMargin
from whatwhere.theory.printed import INDEX_THETA, RETRIEVAL_THETA

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


def errors_of(evidence: Evidence, checks: Sequence[str]) -> Finding:
    """The errors of some checks together; there should be none."""
    rows = [check_named(evidence, name) for name in checks]
    errors, inputs = sum(row.errors for row in rows), sum(row.inputs for row in rows)
    stated = "; ".join(row.claim for row in rows)
    seen = "; ".join(row.found for row in rows if row.found)
    why = f"{errors} errors in {inputs:,} cases: {stated}." + f" Seen: {seen}." * bool(seen)
    return Finding(float(errors), why, None, inputs)


def counterexamples(evidence: Evidence, check: str) -> Finding:
    """How often a statement fails as it is printed; once is enough."""
    row = check_named(evidence, check)
    why = f"It fails in {row.counterexamples:,} of {row.inputs:,} cases: {row.claim}; {row.found}."
    return Finding(float(row.counterexamples), why, None, row.inputs)


def positional_cannot_retrieve(evidence: Evidence) -> Finding:
    """Refuted by one positional head that computes Retrieval on every input tried."""
    check = check_named(evidence, "positional_head_can_retrieve")
    why = f"{check.claim}: {check.errors} errors on {check.inputs:,} inputs; {check.found}."
    why += " The proof needs a head that copies what it attends to (erratum E28)." * check.passed
    return Finding(float(check.errors), why, None, check.inputs)


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
    return Finding(retrieval / index, why)


def margin_in_every_layer(evidence: Evidence) -> Finding:
    """In how many layers Retrieval has lost its margin at the longest input of Figure 5A."""
    rows = [row for row in evidence.rows("theorems", None, "layers", LayerMargin) if row.n == LONGEST]
    if not rows:
        raise NotTested(f"the table of layers does not hold length {LONGEST}.")
    failed = [row for row in rows if row.smallest <= 0]
    best = max(rows, key=lambda row: row.smallest)
    why = (
        f"No margin is left in {len(failed)} of {len(rows)} layers. Figure 5A shows ID 42; ID "
        f"{best.frequency_id} (layer {best.layer}) has the largest margin, {best.smallest:.3g}."
    )
    return Finding(float(len(failed)), why, None, len(rows))


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
    same = max(margins) - min(margins) < ROUNDING
    return Finding(min(margins), why, None, len(margins), rest_holds=same)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals())
