"""How the benchmarks measure and print.

Machines differ and are shared, so a figure is a ratio of two times taken in turns within one run, never a bare time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_REST = 0.02
"""Seconds between two functions: idle threads of the one before still turn on a core for some milliseconds."""


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, its value and the goal it is held against."""

    what: str
    value: float
    unit: str = "x"
    goal: str = ""


def seconds(*functions: Callable[[], object], repeats: int = 5) -> list[float]:
    """The best time of each function; they take turns, so that a disturbance hits all of them."""
    best = [float("inf")] * len(functions)
    for function in functions:
        function()  # warm up
    for _ in range(repeats):
        for i, function in enumerate(functions):
            time.sleep(_REST)
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def show(title: str, rows: Sequence[Row]) -> None:
    """Prints one table."""
    print(f"\n{title}", flush=True)
    for row in rows:
        goal = f"   (goal {row.goal})" if row.goal else ""
        print(f"  {row.what:<86} {row.value:>10.3g} {row.unit:<6}{goal}", flush=True)
