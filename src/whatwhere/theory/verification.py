"""Everything that ``whatwhere theory`` checks, in the order in which it is printed, and its results on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whatwhere.store.storage import write_json
from whatwhere.theory import curves, decomposition, feasibility, purity, robustness, tables
from whatwhere.theory.check import Check

CHECKS: tuple[Callable[[], Check], ...] = (
    decomposition.number_decomposition,
    decomposition.letter_decomposition,
    feasibility.small_index_inputs,
    feasibility.small_retrieval_inputs,
    feasibility.random_index_inputs,
    feasibility.random_retrieval_inputs,
    feasibility.oracles_agree,
    feasibility.out_of_range_inputs,
    feasibility.tied_inputs,
    feasibility.number_task,
    feasibility.letter_task,
    purity.index_head_is_positional,
    purity.retrieval_head_is_symbolic_without_rotation,
    purity.symbolic_head_cannot_index,
    purity.positional_copier_cannot_retrieve,
    purity.positional_head_can_retrieve,
    robustness.corrected_bounds_hold,
    robustness.printed_index_bound_fails,
    robustness.printed_retrieval_bound_fails,
)
RESULT = "theory.json"


def check_paper(
    out: Path | None = None, progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None
) -> dict[str, Any]:
    """Runs every check and makes every table.

    Args:
        out: where ``theory.json`` and the data of the figures go, if anywhere.
        progress: told what is being done, how many parts are done and how many there are.

    Returns:
        What ``theory.json`` holds; a check's entry says whether it ``passed``.
    """
    checks: list[dict[str, Any]] = []
    writers = (curves.write_discrepancy, curves.write_geometry, curves.write_margins) if out else ()
    total = len(CHECKS) + len(writers)
    for done, check in enumerate(CHECKS):
        progress(check.__name__.replace("_", " "), done, total)
        found = check()
        checks.append({"name": check.__name__, **asdict(found), "passed": found.passed})
    result = {
        "checks": checks,
        "inverse_temperatures": tables.beta_rows(),
        "index_discrepancy": tables.index_discrepancy_rows(),
        "retrieval_discrepancy": tables.retrieval_discrepancy_rows(),
    }
    if out:
        for done, write in enumerate(writers, start=len(CHECKS)):
            progress("data of the figures", done, total)
            write(out)
        write_json(out / RESULT, result)
    progress("checked", total, total)
    return result
