"""Checks the theorems on hand-built heads, and tabulates exact margins and inverse temperatures.

Without an angle every table is made; with one, only the reach of both heads at that angle, which takes a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.studies.theorems import curves
from whatwhere.studies.theorems.tables import CheckRow, TheoremsSettings
from whatwhere.theory import construction_scores, decomposition, feasibility, robustness, softening
from whatwhere.theory.check import Check
from whatwhere.theory.printed import PLANES, frequency
from whatwhere.theory.reach import Reach, index_reach, retrieval_reach

CHECKS: dict[str, Callable[[int], Check]] = {
    "number_decomposition": decomposition.number_decomposition,
    "letter_decomposition": decomposition.letter_decomposition,
    "small_index_inputs": lambda _: feasibility.small_index_inputs(),
    "small_retrieval_inputs": lambda _: feasibility.small_retrieval_inputs(),
    "random_index_inputs": feasibility.random_index_inputs,
    "random_retrieval_inputs": feasibility.random_retrieval_inputs,
    "oracles_agree": lambda inputs: feasibility.oracles_agree(inputs // 10),
    "out_of_range_inputs": lambda inputs: feasibility.out_of_range_inputs(inputs // 5),
    "tied_inputs": lambda inputs: feasibility.tied_inputs(inputs // 5),
    "number_task": lambda inputs: feasibility.number_task(48 * inputs),
    "letter_task": lambda inputs: feasibility.letter_task(48 * inputs),
    "lemma_holds": lambda inputs: softening.lemma_holds(inputs // 20),
    "softmax_disperses": lambda _: softening.softmax_disperses(),
    "index_head_is_positional": lambda _: construction_scores.index_head_is_positional(),
    "retrieval_head_is_symbolic_without_rotation": lambda _: (
        construction_scores.retrieval_head_is_symbolic_without_rotation()
    ),
    "symbolic_head_cannot_index": lambda _: construction_scores.symbolic_head_cannot_index(),
    "positional_copier_cannot_retrieve": lambda _: construction_scores.positional_copier_cannot_retrieve(),
    "positional_head_can_retrieve": lambda inputs: construction_scores.positional_head_can_retrieve(inputs // 10),
    "corrected_bounds_hold": lambda _: robustness.corrected_bounds_hold(),
    "printed_index_bound_fails": lambda _: robustness.printed_index_bound_fails(),
    "printed_retrieval_bound_fails": lambda _: robustness.printed_retrieval_bound_fails(),
    "most_letter_layers_have_no_margin": lambda _: robustness.most_letter_layers_have_no_margin(),
}
"""Each check by its name, as a function of the number of inputs; 48 times that is the size of the paper's data sets."""


def measure(subject: None, settings: TheoremsSettings, results: Results, progress: Progress) -> None:
    """Writes the tables that are missing; checks that were made are kept."""
    del subject
    if settings.theta is not None:
        results.write("reach", reach_rows({None: settings.theta}, settings))
        return
    tables: dict[str, Callable[[], Sequence[Any]]] = {
        "discrepancy": curves.discrepancy_rows,
        "layers": curves.layer_rows,
        "temperatures": curves.temperature_rows,
        "reach": lambda: reach_rows({id: frequency(id) for id in range(1, PLANES + 1)}, settings),
        "margins": lambda: curves.margin_rows(settings.letters),
        "vectors": curves.vector_rows,
    }
    total = len(CHECKS) + len(tables)
    for done, (name, make) in enumerate(tables.items()):
        if not results.has(name):
            progress(f"table of {name}", done, total)
            results.write(name, make())
    made = {row.name for row in results.rows("checks", CheckRow)}
    for done, (name, check) in enumerate(CHECKS.items(), start=len(tables)):
        if name not in made:
            progress(name.replace("_", " "), done, total)
            found = check(settings.inputs)
            results.append("checks", [CheckRow(name=name, passed=found.passed, **asdict(found))])
    progress("theorems", total, total)


def reach_rows(angles: dict[int, float] | dict[None, float], settings: TheoremsSettings) -> list[Reach]:
    """The reach of both heads at some angles, by frequency ID."""
    found = []
    for id, theta in angles.items():
        one = index_reach(theta, settings.length, integers=settings.integers, beta=settings.beta)
        other = retrieval_reach(theta, settings.length, letters=settings.letters, beta=settings.beta)
        found += [replace(reach, frequency_id=id) for reach in (one, other)]
    return found
