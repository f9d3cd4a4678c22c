"""Random designs for many sequences at once: balanced cells, subsets, orders (Appendix "Number Task", implementation).

Rows of sequences are the last axis here: one NumPy operation then handles one position of every sequence, and its
memory is contiguous.
"""

from __future__ import annotations

from math import lcm

import numpy as np
from jaxtyping import Bool, Int


def balanced_cells(
    rng: np.random.Generator, count: int, values: int, places: int
) -> tuple[Int[np.ndarray, "count"], Int[np.ndarray, "count"]]:
    """The value and the place of the solution for each of ``count`` sequences: cells of a table, in random order.

    The counts of cells, of rows and of columns each differ by at most one. Cell k of the underlying list is value
    ``k mod values`` at place ``(k + k div lcm) mod places``. It runs along the diagonals, visits every cell once, and
    each of its prefixes has balanced margins. With 120,000 sequences, 64 values and 8 places each cell has 234 or 235
    (the paper's 234.375 is not possible, erratum E22), each value 1,875 and each place 15,000.
    """
    cell = rng.permutation(count) % (values * places)
    value = cell % values
    place = (cell + cell // lcm(values, places)) % places
    # Which cells get the remainder is itself random.
    return rng.permutation(values)[value], rng.permutation(places)[place]


def random_subset(
    rng: np.random.Generator, allowed: Bool[np.ndarray, "places n"], size: Int[np.ndarray, "n"]
) -> Bool[np.ndarray, "places n"]:
    """Draws for each sequence ``size`` of its allowed places, each such subset equally likely (selection sampling)."""
    chosen = np.zeros_like(allowed)
    wanted = size.astype(np.int16)
    left = allowed.sum(0, dtype=np.int16)
    for place, may in enumerate(allowed):
        chosen[place] = may & (rng.random(len(size), dtype=np.float32) * left < wanted)
        wanted -= chosen[place]
        left -= may
    return chosen


def running_count(marks: Bool[np.ndarray, "places n"]) -> Int[np.ndarray, "places n"]:
    """How many places up to each one are marked (NumPy's cumsum is slow along the first axis)."""
    count = marks.astype(np.int16)
    for place in range(1, len(count)):
        count[place] += count[place - 1]
    return count


def below(rng: np.random.Generator, bound: Int[np.ndarray, "n"] | int, n: int) -> Int[np.ndarray, "n"]:
    """A uniform whole number in 0 .. bound-1 for each sequence; bounds may differ, and stay far below 2^24."""
    return (rng.random(n, dtype=np.float32) * bound).astype(np.int32)


def random_orders(rng: np.random.Generator, first: Int[np.ndarray, "n"], items: int) -> Int[np.ndarray, "items n"]:
    """A random order of 0 .. items-1 for each sequence, with a prescribed item in front (Fisher and Yates)."""
    n = len(first)
    sequence = np.arange(n)
    order = np.repeat(np.arange(items, dtype=np.int32)[:, None], n, axis=1)  # [items, n]
    order[first, sequence] = 0
    order[0] = first
    for i in range(1, items - 1):
        other = i + below(rng, items - i, n)
        kept = order[i].copy()
        order[i] = order[other, sequence]
        order[other, sequence] = kept
    return order
