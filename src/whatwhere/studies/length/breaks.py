"""Where a curve against length breaks: observed in the accuracy, and predicted by margins and attention mass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.length import tables
from whatwhere.studies.length.tables import MARGIN, MASS, MEASURED, PREDICTED, Break


def break_length(points: Iterable[tuple[int, float]], threshold: float) -> float:
    """The first length at which a curve falls below a threshold, linear between points in the logarithm of length.

    A curve that starts below breaks at its first length; one that never falls below has no break (NaN).
    """
    before: tuple[int, float] | None = None
    for length, share in sorted(points):
        if share < threshold:
            if before is None:
                return float(length)
            drop = (before[1] - threshold) / (before[1] - share)
            return math.exp(math.log(before[0]) + drop * (math.log(length) - math.log(before[0])))
        before = length, share
    return math.nan


def break_interval(points: Sequence[tuple[int, Estimate]], threshold: float) -> tuple[float, float]:
    """Measured lengths between which a curve falls below a threshold: nothing is known of those between two of them.

    From the last length before the lower end of a share falls below, to the first at which the upper end does; NaN for
    one that never does.
    """
    points = sorted(points, key=lambda point: point[0])
    below = [length for length, share in points if share.high < threshold]
    first = next((at for at, (_, share) in enumerate(points) if share.low < threshold), None)
    low = math.nan if first is None else float(points[max(first - 1, 0)][0])
    return low, float(below[0]) if below else math.nan


def finer_lengths(rows: Sequence[Break], lengths: Sequence[int], count: int) -> list[int]:
    """Up to ``count`` further lengths in each gap in which half of the answers begin to fail, or are predicted to.

    None if fewer than half fail at every length.
    """
    halves = {(r.what, r.source): r.length for r in rows if (r.hop, r.threshold) == (None, min(tables.THRESHOLDS))}
    measured, predicted = halves[tables.ACCURACY, MEASURED], halves.get((f"chain {MASS}", PREDICTED))
    found: set[int] = set()
    for at in (measured, predicted) if count and not math.isnan(measured.value) else ():
        for start, end in pairwise(n for n in sorted(lengths) if at and at.low <= n <= at.high):
            found.update(range(start, end, math.ceil((end - start) / (count + 1))))
    return sorted(found.difference(lengths))


def break_rows(
    accuracy: Sequence[tables.Accuracy], cells: Sequence[tables.Hop], chains: Sequence[tables.Chain]
) -> list[Break]:
    """The breaks of accuracy, of whole paths and of each working cell, at each threshold, of the model as trained."""
    rows: list[Break] = []
    for hop in dict.fromkeys(row.hop for row in accuracy):
        rows += _breaks(tables.ACCURACY, MEASURED, [(r.length, r.accuracy) for r in accuracy if r.hop == hop], hop)
        for rule in (MARGIN, MASS):
            for source in (MEASURED, PREDICTED):
                chosen = [c for c in chains if (c.hop, c.rule, c.source) == (hop, rule, source)]
                rows += _breaks(f"chain {rule}", source, [(c.length, c.share) for c in chosen], hop)
    for cell in tables.working_cells(cells, min(row.length for row in accuracy)):
        for source in (MEASURED, PREDICTED):
            chosen = [row for row in cells if row.cell == cell and row.source == source]
            rows += _breaks(MARGIN, source, [(row.length, row.leads) for row in chosen], cell=cell)
            rows += _breaks(MASS, source, [(row.length, row.holds) for row in chosen], cell=cell)
    return rows


def _breaks(
    what: str, source: str, points: Sequence[tuple[int, Estimate]], hop: int | None = None,
    cell: tables.Cell | tables.NoCell = (None, None, None, None),
) -> Iterator[Break]:  # fmt: skip
    """A row for each threshold, from the share at each length."""
    if not points:
        return
    longest = max(length for length, _ in points)
    for threshold in tables.THRESHOLDS:
        value = break_length([(length, share.value) for length, share in points], threshold)
        low, high = break_interval(points, threshold)
        last = longest if math.isnan(value) else max(value, min(length for length, _ in points))
        n = min(share.n for length, share in points if length <= last)
        yield Break(what, source, hop, *cell, threshold, Estimate(value, low, high, n), longest)
