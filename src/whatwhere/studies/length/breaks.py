"""Where a curve against length breaks: observed in the accuracy, and foretold by margins and attention mass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whatwhere.studies.length.hop_strength import Cell
from whatwhere.studies.length.hop_tables import ChainRow, HopRow, working_cells

if TYPE_CHECKING:
    from whatwhere.studies.length.measure import LengthAccuracy

THRESHOLDS = (0.9, 0.5)
Point = tuple[int, float, float, float]
"""A length, a share, and the ends of its interval."""


@dataclass(frozen=True)
class BreakRow:
    """The length at which a share of inputs falls below a threshold."""

    what: str
    """``accuracy``; ``chain margin``, ``chain mass`` (all working cells of a path); ``margin``, ``mass`` (one cell)."""
    source: str
    """``measured`` at each length, or ``foretold`` from the training length alone."""
    hop: int
    """The hop class (0: mean) of accuracy and chains; 0 for a cell."""
    layer: int
    """Of a cell; -1 otherwise."""
    head: int
    to_go: int
    jump: int
    threshold: float
    length: float
    """Interpolated in the logarithm of length; infinite if the share stays above within the lengths measured."""
    low: float
    """The same of the lower ends of the intervals: the shortest length that the data allow."""
    high: float
    longest: int
    """The longest length measured."""

    @property
    def place(self) -> Cell:
        """The cell that it speaks of; the same for all that speak of none."""
        return self.layer, self.head, self.to_go, self.jump


def break_length(points: Iterable[tuple[int, float]], threshold: float) -> float:
    """The first length at which a curve falls below a threshold, linear between points in the logarithm of length.

    A curve that starts below breaks at its first length; one that never falls below breaks at infinity.
    """
    before: tuple[int, float] | None = None
    for length, share in sorted(points):
        if share < threshold:
            if before is None:
                return float(length)
            drop = (before[1] - threshold) / (before[1] - share)
            return math.exp(math.log(before[0]) + drop * (math.log(length) - math.log(before[0])))
        before = length, share
    return math.inf


def break_rows(
    accuracy: Sequence[LengthAccuracy], cells: Sequence[HopRow], chains: Sequence[ChainRow]
) -> list[BreakRow]:
    """The breaks of accuracy, of whole paths and of each working cell, at each threshold."""
    trained = min(row.length for row in accuracy)
    rows = []
    for hop in sorted({row.hop for row in accuracy}):
        points = [(row.length, row.accuracy, row.low, row.high) for row in accuracy if row.hop == hop]
        rows += _breaks("accuracy", "measured", hop, (-1, -1, 0, 0), points)
        for rule in ("margin", "mass"):
            for source in ("measured", "foretold"):
                chosen = [c for c in chains if (c.hop, c.rule, c.source) == (hop, rule, source)]
                points = [(c.length, c.share, c.low, c.high) for c in chosen]
                rows += _breaks(f"chain {rule}", source, hop, (-1, -1, 0, 0), points)
    for cell in working_cells(cells, trained):
        for source in ("measured", "foretold"):
            chosen = [row for row in cells if row.cell == cell and row.source == source]
            leads = [(row.length, row.leads, row.leads_low, row.leads_high) for row in chosen]
            holds = [(row.length, row.holds, row.holds_low, row.holds_high) for row in chosen]
            rows += _breaks("margin", source, 0, cell, leads) + _breaks("mass", source, 0, cell, holds)
    return rows


def _breaks(what: str, source: str, hop: int, cell: Cell, points: Sequence[Point]) -> list[BreakRow]:
    if not points:
        return []
    longest = max(point[0] for point in points)
    rows = []
    for threshold in THRESHOLDS:
        length, low, high = (break_length([(point[0], point[end]) for point in points], threshold) for end in (1, 2, 3))
        rows.append(BreakRow(what, source, hop, *cell, threshold, length, low, high, longest))
    return rows
