"""Why frequencies differ: known mistakes are made on purpose, one by one, until one gives what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from whatwhere.studies.rope.scaling_rules import Frequencies, Rope

SAME = 1e-4
"""Frequencies that differ by a smaller share are the same: tables are float32."""
BASES = (2.0, 1e10)
"""Bases that are tried."""
Close = Callable[[Frequencies, Frequencies], bool]


def close_within(allowed: float) -> Close:
    """Whether two sets of frequencies are the same, up to what was allowed by the measurement."""

    def close(one: Frequencies, other: Frequencies) -> bool:
        if one.shape != other.shape:
            return False
        return bool((np.abs(one - other) <= np.maximum(SAME * np.abs(other), allowed)).all())

    return close


def cause_of(
    found: Frequencies,
    expected: Frequencies,
    rope: Rope | None,
    kinds: Mapping[str, Frequencies],
    seq: int,
    close: Close,
) -> str:
    """Names a mistake that turns the expected frequencies into those that were found.

    Args:
        found: as measured.
        expected: as they should be, as many.
        rope: what the configuration says of this layer, if it does.
        kinds: the frequencies that layers of other kinds should have.
        seq: tokens of the input.
        close: when two sets of frequencies are the same.
    """
    for name, frequencies in _mistakes(expected, rope, kinds, seq):
        if frequencies is not None and close(found, frequencies):
            return name
    turning = expected > 0
    ratio = found[turning] / expected[turning]
    if len(ratio) > 1 and np.ptp(ratio) < 1e-3 * ratio.mean() and not found[~turning].any():
        how = f"divided by {1 / ratio.mean():.4g}" if ratio.mean() < 1 else f"multiplied by {ratio.mean():.4g}"
        return f"all frequencies are {how}: linear scaling is missing, doubled or has another factor"
    if rope is not None and (base := _base_of(found, rope, seq, close)) is not None:
        return f"base {base:,.6g} instead of {rope.base:,.6g}"
    differing = 1 + np.flatnonzero(np.abs(found - expected) > SAME * np.abs(expected))
    return f"planes {differing[0]} to {differing[-1]} turn at another speed, by no rule that is known here"


def _mistakes(
    expected: Frequencies, rope: Rope | None, kinds: Mapping[str, Frequencies], seq: int
) -> Iterator[tuple[str, Frequencies | None]]:
    for kind, frequencies in kinds.items():
        yield f"these are the frequencies of its {kind} layers: local and global are swapped", frequencies
    for dtype in (torch.bfloat16, torch.float16):
        rounded = torch.from_numpy(expected).to(dtype).double().numpy()
        yield f"the table of frequencies was rounded to {str(dtype).removeprefix('torch.')}", rounded
    if rope is None:
        return
    if rope.kind != "default":
        yield f"the scaling {rope.kind!r} is missing: these are plain powers of the base", rope.powers()
    for denominator in sorted({rope.head, rope.width // 2, 2 * rope.width, 2 * rope.head} - {rope.width}):
        name = f"the exponent is divided by {denominator} instead of {rope.width}"
        yield name, replace(rope, denominator=denominator).frequencies(seq)
        yield f"{name}, and the scaling is missing", replace(rope, denominator=denominator, kind="default").powers()


def _base_of(found: Frequencies, rope: Rope, seq: int, close: Close) -> float | None:
    """The base with which the configuration's rule gives the frequencies that were found, if there is one."""

    def with_base(log: float) -> Frequencies:
        made = replace(rope, base=math.exp(log)).frequencies(seq)
        return found * np.nan if made is None else made

    def misfit(log: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.nan_to_num(np.abs(np.log(with_base(log)) - np.log(found)), nan=99.0, posinf=99.0).max())

    if rope.width < 4 or not len(found):
        return None
    # The misfit has one valley where the rule is a power, and a few where it is not: begin at the best of a grid.
    grid = np.linspace(math.log(BASES[0]), math.log(BASES[1]), 200)
    best = int(np.argmin([misfit(log) for log in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    fit: Any = minimize_scalar(misfit, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    log = float(fit.x)
    return float(f"{math.exp(log):.6g}") if close(found, with_base(log)) else None
