"""Theorem 2 (Robustness) at every length: which bounds hold, and where printed ones do not (errata E5, E6, E29)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from whatwhere.theory import discrepancy
from whatwhere.theory.check import Check
from whatwhere.theory.feasibility import INDEX_ANGLES, RETRIEVAL_ANGLES
from whatwhere.theory.printed import LETTER_IDS, frequency

_ByLength = Callable[[int, float], float]
LONGEST = 1_000
RETRIEVAL_LONGEST = 300
"""Past omega / theta (291 at 0.0027) there is no margin left to bound."""
ROUNDING = 1e-12
PRINTED_INDEX_FAILURES = {0.8: 578, 0.866: 381, 1.0: 665}
"""Lengths to 1,000 at which the largest discrepancy exceeds the printed Index bound, by angle."""
PRINTED_RETRIEVAL_FAILURES = {0.0027: range(3, 25), 0.0115: range(3, 13)}
"""Lengths at which even the smallest discrepancy exceeds the printed Retrieval bound, by angle, while one exists."""
FIGURE_LENGTH = 100
"""The longest input of Figure 5A."""
LAYERS_WITHOUT_MARGIN = (0, 1, 3, 5, 7, 9, 10)
"""Layers of the letter model whose frequency, by the paper's table, leaves Retrieval no margin at FIGURE_LENGTH."""


def corrected_bounds_hold() -> Check:
    """Every corrected bound, for the notion in its name."""
    index = (
        (discrepancy.index_smallest, discrepancy.index_smallest_bound),
        (discrepancy.index_largest, discrepancy.index_largest_bound),
    )
    retrieval = (
        (discrepancy.retrieval_smallest, discrepancy.retrieval_smallest_bound),
        (discrepancy.retrieval_largest, discrepancy.retrieval_largest_bound),
    )
    cases = [(n, theta, both) for theta in INDEX_ANGLES for n in range(2, LONGEST + 1) for both in index]
    cases += [(n, theta, both) for theta in RETRIEVAL_ANGLES for n in retrieval_lengths(theta) for both in retrieval]
    broken = sum(exact(n, theta) > bound(n, theta) + ROUNDING for n, theta, (exact, bound) in cases)
    return Check(f"the corrected bounds hold at every length (Index to {LONGEST})", len(cases), broken)


def printed_index_bound_fails() -> Check:
    """E5: the printed Index bound, for the largest discrepancy, of which the theorem speaks."""
    lengths = range(2, LONGEST + 1)
    failures = {
        t: len(list(_above(lengths, t, discrepancy.index_largest, discrepancy.index_printed_bound)))
        for t in INDEX_ANGLES
    }
    wrong = sum(failures[theta] != count for theta, count in PRINTED_INDEX_FAILURES.items())
    found = ", ".join(f"{count} of {len(lengths)} lengths at {theta}" for theta, count in failures.items())
    claim = "the printed Index bound fails for the largest discrepancy (E5)"
    return Check(claim, len(failures) * len(lengths), wrong, found, sum(failures.values()))


def printed_retrieval_bound_fails() -> Check:
    """E6: the printed Retrieval bound, even for the smallest discrepancy, at short lengths."""
    wrong = inputs = fails = 0
    found = []
    for theta, expected in PRINTED_RETRIEVAL_FAILURES.items():
        lengths = [n for n in retrieval_lengths(theta) if n >= 3 and (2 * n - 3) * theta <= math.pi / 4]
        above = list(_above(lengths, theta, discrepancy.retrieval_smallest, discrepancy.retrieval_printed_bound))
        wrong += len(set(above) ^ set(expected))
        inputs += len(lengths)
        fails += len(above)
        found.append(f"n = {above[0]} to {above[-1]} at {theta}")
    return Check("the printed Retrieval bound fails at short lengths (E6)", inputs, wrong, ", ".join(found), fails)


def most_letter_layers_have_no_margin() -> Check:
    """E29: Figure 5A shows layer 2, whose angle is the smallest of the twelve; at most others Retrieval has failed."""
    margins = [discrepancy.retrieval_smallest(FIGURE_LENGTH, frequency(id)) for id in LETTER_IDS]
    failed = [layer for layer, margin in enumerate(margins) if margin <= 0]
    wrong = len(set(failed) ^ set(LAYERS_WITHOUT_MARGIN))
    found = f"layers {', '.join(map(str, failed))}; the best is layer {margins.index(max(margins))}, of Figure 5A"
    claim = f"Retrieval has no margin at {FIGURE_LENGTH} tokens in most layers of the paper's letter model (E29)"
    return Check(claim, len(margins), wrong, found, len(failed))


def retrieval_lengths(theta: float, letters: int = 8) -> range:
    """Lengths from 2 at which (n - 1) theta does not exceed omega."""
    most = RETRIEVAL_LONGEST if theta == 0 else min(RETRIEVAL_LONGEST, int(math.tau / letters / theta) + 1)
    return range(2, most + 1)


def _above(lengths: Iterable[int], theta: float, exact: _ByLength, bound: _ByLength) -> Iterable[int]:
    return (n for n in lengths if exact(n, theta) > bound(n, theta) + ROUNDING)
