"""Everything that ``whatwhere theory`` checks, in the order in which it is printed."""

from __future__ import annotations

from collections.abc import Callable

from whatwhere.theory import feasibility, purity, robustness
from whatwhere.theory.check import Check

CHECKS: tuple[Callable[[], Check], ...] = (
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
"""Call them one at a time, so that progress can be shown in between."""
