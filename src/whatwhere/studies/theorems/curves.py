"""The numbers behind Figure 4A, Figure 5A and the margin map, and the table of inverse temperatures."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from whatwhere.studies.theorems.tables import Discrepancy, LayerMargin, Margin, PlaneVector, Temperature
from whatwhere.theory import discrepancy as exact
from whatwhere.theory import temperature
from whatwhere.theory.directions import UP, turned
from whatwhere.theory.feasibility import INDEX_ANGLES, RETRIEVAL_ANGLES
from whatwhere.theory.printed import INDEX_THETA, INTEGERS, LENGTH, LETTER_IDS, LETTERS, frequency
from whatwhere.theory.reach import defined, margin_map
from whatwhere.theory.robustness import FIGURE_LENGTH

LENGTHS = (*range(2, 151), 850)
"""Past 146 tokens Retrieval has no margin at 0.0027; 850 is the longest input of the paper's experiments."""
TEMPERATURE_LENGTHS = (5, 10, 17, 30, 50, 100, 146)
PICTURED = 3
"""The integer whose query is shown at several distances."""
DRAWN_INTEGERS = 8
_ByLength = Callable[[int, float], float]


def discrepancy_rows() -> list[Discrepancy]:
    """Printed bound, corrected bound and exact values of both heads at every length and angle."""
    heads: dict[str, tuple[tuple[float, ...], tuple[_ByLength, ...]]] = {
        "index": (INDEX_ANGLES, (exact.index_printed_bound, exact.index_smallest_bound,
                                 exact.index_smallest, exact.index_largest)),
        "retrieval": (RETRIEVAL_ANGLES, (exact.retrieval_printed_bound, exact.retrieval_smallest_bound,
                                         exact.retrieval_smallest, exact.retrieval_largest)),
    }  # fmt: skip
    return [
        Discrepancy(head, theta, n, *(value(n, theta) for value in values))
        for head, (angles, values) in heads.items()
        for theta in angles
        for n in LENGTHS
    ]


def layer_rows() -> list[LayerMargin]:
    """Figure 5A's exact curve of Retrieval for each layer of the letter model, by the paper's table (erratum E29)."""
    return [
        LayerMargin(layer, id, frequency(id), n, exact.retrieval_smallest(n, frequency(id)))
        for layer, id in enumerate(LETTER_IDS)
        for n in range(2, FIGURE_LENGTH + 1)
    ]


def temperature_rows() -> list[Temperature]:
    """The least and the sufficient inverse temperature of both heads; undefined where none serves."""
    rows: list[Temperature] = []

    def add(head: str, inputs: str, theta: float, n: int, least: float, enough: float = math.nan) -> None:
        rows.append(Temperature(head, inputs, theta, n, defined(least), defined(enough)))

    for theta in INDEX_ANGLES:
        for n in TEMPERATURE_LENGTHS:
            least = temperature.index_minimum_beta(n, theta, INTEGERS)
            add("index", "in range", theta, n, least, temperature.index_sufficient_beta(n, theta))
        add("index", "raw task inputs", theta, LENGTH, temperature.index_minimum_beta_on_task_inputs(theta))
    for theta in RETRIEVAL_ANGLES:
        for n in TEMPERATURE_LENGTHS:
            least = temperature.retrieval_minimum_beta(n, theta)
            add("retrieval", "pointing queries", theta, n, least, temperature.retrieval_sufficient_beta(n, theta))
        add("retrieval", "self queries", theta, LENGTH, temperature.retrieval_self_minimum_beta(LENGTH, theta))
        add("retrieval", "shared left letter", theta, LENGTH, temperature.retrieval_tie_beta(LENGTH, theta))
    return rows


def margin_rows(letters: int = LETTERS) -> list[Margin]:
    """The smallest discrepancy of both heads over angles and lengths."""
    thetas, lengths = np.geomspace(1e-4, 1, 121), np.unique(np.geomspace(3, 1000, 110).astype(int))
    index, retrieval = margin_map(thetas, lengths, letters)
    return [
        Margin(float(theta), int(n), float(index[i, j]), float(retrieval[i, j]))
        for i, theta in enumerate(thetas)
        for j, n in enumerate(lengths)
    ]


def vector_rows(theta: float = INDEX_THETA) -> list[PlaneVector]:
    """All keys of T_Index are one vector v; the query of integer i stands i theta before it and turns with distance."""
    drawn = [("key", 0, 0.0), *(("query", i, -i * theta) for i in range(1, DRAWN_INTEGERS + 1))]
    drawn += [("rotated", distance, (distance - PICTURED) * theta) for distance in range(6)]
    return [PlaneVector(vector, number, *map(float, turned(UP, angle))) for vector, number, angle in drawn]
