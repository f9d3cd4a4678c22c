"""The tables that ``whatwhere theory`` prints: inverse temperatures and discrepancies by length and angle."""

from __future__ import annotations

from whatwhere.theory.discrepancy import (
    index_largest,
    index_printed_bound,
    index_smallest,
    retrieval_printed_bound,
    retrieval_smallest,
    retrieval_smallest_bound,
)
from whatwhere.theory.feasibility import INDEX_ANGLES, RETRIEVAL_ANGLES
from whatwhere.theory.reach import finite
from whatwhere.theory.temperature import (
    index_minimum_beta,
    index_minimum_beta_on_task_inputs,
    index_sufficient_beta,
    retrieval_minimum_beta,
    retrieval_sufficient_beta,
)

Row = dict[str, float | int | str | None]

INTEGERS = 16
"""Integers of the number task; longer inputs do not bring larger ones."""


def beta_rows() -> list[Row]:
    """The least and the sufficient inverse temperature of both heads; None where none serves."""
    rows: list[Row] = []
    for theta in INDEX_ANGLES:
        for n in (5, 10, 17, 25, 50, 100):
            most = None if n <= 25 else INTEGERS
            least, enough = index_minimum_beta(n, theta, most), index_sufficient_beta(n, theta)
            rows.append({"head": "index", "theta": theta, "n": n, "least": least, "sufficient": enough})
        raw = index_minimum_beta_on_task_inputs(theta)
        rows.append({"head": "index, raw task inputs", "theta": theta, "n": 17, "least": raw, "sufficient": None})
    for theta in RETRIEVAL_ANGLES:
        for n in (5, 10, 17, 30, 50, 100, 146):
            least, enough = finite(retrieval_minimum_beta(n, theta)), finite(retrieval_sufficient_beta(n, theta))
            rows.append({"head": "retrieval", "theta": theta, "n": n, "least": least, "sufficient": enough})
    return rows


def index_discrepancy_rows() -> list[Row]:
    """Smallest and largest discrepancy of T_Index beside the printed bound."""
    return [
        {
            "theta": theta,
            "n": n,
            "printed_bound": index_printed_bound(n, theta),
            "smallest": index_smallest(n, theta),
            "largest": index_largest(n, theta),
        }
        for theta in INDEX_ANGLES
        for n in (5, 10, 17, 32, 50, 100, 850)
    ]


def retrieval_discrepancy_rows() -> list[Row]:
    """Smallest discrepancy of T_Retrieval beside the printed and the corrected bound; below 0 a wrong token wins."""
    return [
        {
            "theta": theta,
            "n": n,
            "printed_bound": retrieval_printed_bound(n, theta),
            "corrected_bound": retrieval_smallest_bound(n, theta),
            "smallest": retrieval_smallest(n, theta),
        }
        for theta in RETRIEVAL_ANGLES
        for n in (3, 17, 30, 50, 100, 145, 146, 147)
    ]
