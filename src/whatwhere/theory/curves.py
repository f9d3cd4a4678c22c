"""The numbers behind Fig. 4A, Fig. 5A and the margin map, as CSV files; ``whatwhere.studies.theorems.figures`` draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from whatwhere.store.storage import write_csv
from whatwhere.theory.directions import UP, turned
from whatwhere.theory.discrepancy import (
    index_largest,
    index_printed_bound,
    index_smallest,
    retrieval_printed_bound,
    retrieval_smallest,
    retrieval_smallest_bound,
)
from whatwhere.theory.reach import MarginMap, margin_map

INDEX_THETA, RETRIEVAL_THETA = 0.866, 0.0027
"""Frequency IDs 2 and 42, the ones of Fig. 5A."""
CAPTION_THETA = 0.8
"""The Index angle that the caption of Fig. 5 names; frequency ID 2 is 0.866 (erratum E12)."""
LETTERS = 8
INTEGERS = 8
"""Queries of Fig. 4A."""
PICTURED = 3
"""The integer whose query is shown at several distances."""
DISCREPANCY, GEOMETRY, MARGINS = "figure-5a-discrepancy.csv", "figure-4a-geometry.csv", "margin-map.csv"


def write_discrepancy(directory: Path) -> None:
    """Writes the data of Fig. 5A."""
    _write(directory / DISCREPANCY, discrepancy_rows())


def write_geometry(directory: Path) -> None:
    """Writes the data of Fig. 4A."""
    _write(directory / GEOMETRY, geometry_rows())


def write_margins(directory: Path, letters: int = LETTERS) -> None:
    """Writes the map of angles and lengths that serve Index and Retrieval."""
    thetas = np.geomspace(1e-4, 1, 121)
    lengths = np.unique(np.geomspace(3, 1000, 110).astype(int))
    _write(directory / MARGINS, margin_rows(margin_map(thetas, lengths, letters)))


def discrepancy_rows(
    longest: int = 100, index_theta: float = INDEX_THETA, retrieval_theta: float = RETRIEVAL_THETA
) -> list[dict[str, float | int]]:
    """Printed bounds, corrected bounds and exact values at every length."""
    rows: list[dict[str, float | int]] = []
    for n in range(2, longest + 1):
        exact = retrieval_smallest(n, retrieval_theta, LETTERS)
        rows.append(
            {
                "n": n,
                "index_theta": index_theta,
                "index_printed_bound": index_printed_bound(n, index_theta),
                "index_caption_bound": index_printed_bound(n, CAPTION_THETA),
                "index_smallest": index_smallest(n, index_theta),
                "index_largest": index_largest(n, index_theta),
                "retrieval_theta": retrieval_theta,
                "retrieval_printed_bound": retrieval_printed_bound(n, retrieval_theta, LETTERS),
                "retrieval_corrected_bound": retrieval_smallest_bound(n, retrieval_theta, LETTERS),
                "retrieval_smallest": exact if exact > 0 else math.nan,
            }
        )
    return rows


def geometry_rows(theta: float = INDEX_THETA) -> list[dict[str, float | int | str]]:
    """All keys of T_Index are one vector v; the query of integer i stands i theta before it, and turns with distance.

    The column ``number`` is the integer of a query, or the distance at which the query of 3 is seen.
    """
    drawn = [("key", 0, 0.0), *(("query", i, -i * theta) for i in range(1, INTEGERS + 1))]
    drawn += [(f"query {PICTURED} rotated", distance, (distance - PICTURED) * theta) for distance in range(6)]
    rows: list[dict[str, float | int | str]] = []
    for vector, number, angle in drawn:
        x, y = map(float, turned(UP, angle))
        rows.append({"vector": vector, "number": number, "x": x, "y": y})
    return rows


def margin_rows(margins: MarginMap) -> list[dict[str, float | int]]:
    """The smallest discrepancy of both heads, a row for each angle and length."""
    return [
        {
            "theta": float(theta),
            "n": int(n),
            "index_smallest": float(margins.index[i, j]),
            "retrieval_smallest": float(margins.retrieval[i, j]),
        }
        for i, theta in enumerate(margins.thetas)
        for j, n in enumerate(margins.lengths)
    ]


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    write_csv(path, list(rows[0]), [list(row.values()) for row in rows])
