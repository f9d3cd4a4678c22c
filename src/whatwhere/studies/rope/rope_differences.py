"""Differences between the measured and the expected rotations, with the layer and the cause.

The cause of different frequencies is found by simulating known mistakes until one gives the measured values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from whatwhere.studies.rope.expected_rope import Frequencies, MeasuredRope, Rope, RopeFacts
from whatwhere.studies.rope.tables import Difference

NUMBERS = 1e-3
"""Factors and scales that differ by a smaller share are the same."""
_PAIRS = {"half": "half-split", "interleaved": "interleaved", "other": "in no usual way", "none": "not at all"}
SAME = 1e-4
"""Frequencies that differ by a smaller share are the same: tables are float32."""
BASES = (2.0, 1e10)
"""Bases that are tried."""


@dataclass(frozen=True)
class Order:
    """Whether the coordinates of two models' keys stand in the same order, in one layer."""

    similarity: float
    """The cosine of the keys as they are."""
    interleaved: bool | None
    """Whether the first model's are in interleaved order where the other's are in half-split order (True), or the
    other way round (False); None if they are in the same order, or not similar in any."""


Part = tuple[str, str, str, str]
"""What differs, what was found, what was expected, and the cause."""


def differences(
    names: tuple[str, str], layers: Sequence[MeasuredRope], expected: Sequence[RopeFacts], seq: int,
    orders: Sequence[Order] | None = None,
) -> list[Difference]:  # fmt: skip
    """Compares the layers of a model with those expected from its configuration or from another model.

    The names are the model's and that of what it is compared with; ``seq`` is the length of the input. ``orders``
    compare the coordinates of its keys with those of the other model, if there is one.
    """
    inverted = _inverted(layers, expected)
    rows = []
    for at, (found, wanted) in enumerate(zip(layers, expected, strict=True)):
        kinds = {
            each.kind: each.frequencies
            for each in expected
            if each.kind != wanted.kind and each.frequencies is not None and len(each.frequencies)
        }
        parts = [*_turning(found, wanted, inverted, kinds, seq), *_numbers(found, wanted)]
        parts += _pairing(found, wanted, None if orders is None else orders[at])
        rows += [Difference(*names, found.layer, *part) for part in parts]
    return rows


def _inverted(found: Sequence[MeasuredRope], expected: Sequence[RopeFacts]) -> bool:
    """Whether exactly the layers rotate that should not; there must be some of both."""
    turns = [bool(len(each.frequencies)) for each in found]
    should = [bool(len(each.frequencies)) for each in expected if each.frequencies is not None]
    return len(turns) == len(should) and len(set(should)) == 2 and turns == [not each for each in should]


def _turning(
    found: MeasuredRope, wanted: RopeFacts, inverted: bool, kinds: dict[str, Frequencies], seq: int
) -> Iterator[Part]:
    if wanted.frequencies is None:
        return
    planes, should = len(found.frequencies), len(wanted.frequencies)
    here, there = _coordinates(planes, found.width), _coordinates(should, wanted.width)
    if bool(planes) != bool(should):
        cause = "the pattern of layers without rotation (NoPE) is inverted" if inverted else (
            "a layer that should have no rotation (NoPE) has one" if planes else "a layer that should turn does not"
        )  # fmt: skip
        yield "rotation", here, there, cause
    elif planes != should:
        whole = wanted.rope is not None and 2 * planes == wanted.rope.head
        cause = "the partial factor is ignored: whole heads turn" if whole else "another share of the head turns"
        yield "width", here, there, cause
    elif not _close(found.frequencies, wanted.frequencies, found.allowed):
        cause = _cause_of(found.frequencies, wanted.frequencies, wanted.rope, kinds, seq, found.allowed)
        yield "frequencies", _span(found.frequencies), _span(wanted.frequencies), cause


def _coordinates(planes: int, width: int) -> str:
    return f"{2 * planes} of {width} coordinates turn" if planes else "no rotation"


def _numbers(found: MeasuredRope, wanted: RopeFacts) -> Iterator[Part]:
    turns = len(found.frequencies) > 0 and wanted.frequencies is not None
    if turns and not math.isclose(found.factor, wanted.factor, rel_tol=10 * NUMBERS):
        missing = found.factor == 1
        cause = "the lengthening of turned vectors is missing" if missing else "turned vectors are lengthened otherwise"
        yield "lengthening", f"{found.factor:.4g}", f"{wanted.factor:.4g}", cause
    if wanted.scale is None or math.isclose(found.scale, wanted.scale, rel_tol=NUMBERS):
        return
    cause = "logits are multiplied by another scale"
    if math.isclose(found.scale, 1):
        cause = "the attention scale is missing"
    elif math.isclose(found.scale, found.width**-0.5, rel_tol=NUMBERS):
        cause = "the configuration's scale is ignored: it is one over the square root of the width"
    yield "scale", f"{found.scale:.4g}", f"{wanted.scale:.4g}", cause


def _pairing(found: MeasuredRope, wanted: RopeFacts, order: Order | None) -> Iterator[Part]:
    """Another pairing is correct if the weights have the same order (then the keys are similar)."""
    if wanted.pairing is None or "none" in (found.pairing, wanted.pairing):
        return
    here, there = _PAIRS[found.pairing], _PAIRS[wanted.pairing]
    if found.pairing == wanted.pairing:
        if order is not None and order.interleaved is not None:
            rows = ("interleaved", "half-split") if order.interleaved else ("half-split", "interleaved")
            cause = "the rows of queries and keys stand in the order of the other pairing: not permuted on conversion"
            yield "pairing", f"rows {rows[0]}", f"rows {rows[1]}", cause
    elif order is None:
        yield "pairing", here, there, f"coordinates are paired {here} where the family pairs them {there}"
    elif order.interleaved is not None:
        cause = f"coordinates are paired {here} instead of {there}, and the weights stand in the same order"
        yield "pairing", here, there, cause
    elif not order.similarity > 0.5:
        yield "pairing", here, there, "coordinates are paired otherwise, and the keys are not similar in any order"


def _span(frequencies: Frequencies) -> str:
    return f"{frequencies[0]:.4g} to {frequencies[-1]:.4g}"


def _close(one: Frequencies, other: Frequencies, allowed: float) -> bool:
    """Whether two sets of frequencies are the same, up to what was allowed by the measurement."""
    if one.shape != other.shape:
        return False
    return bool((np.abs(one - other) <= np.maximum(SAME * np.abs(other), allowed)).all())


def _cause_of(
    found: Frequencies, expected: Frequencies, rope: Rope | None, kinds: Mapping[str, Frequencies], seq: int,
    allowed: float,
) -> str:  # fmt: skip
    """Names a mistake that gives the measured frequencies instead of the expected ones.

    ``rope`` is the configuration of this layer, if known; ``kinds`` are the expected frequencies of other kinds of
    layers.
    """
    for name, frequencies in _mistakes(expected, rope, kinds, seq):
        if frequencies is not None and _close(found, frequencies, allowed):
            return name
    turning = expected > 0
    ratio = found[turning] / expected[turning]
    if len(ratio) > 1 and np.ptp(ratio) < 1e-3 * ratio.mean() and not found[~turning].any():
        how = f"divided by {1 / ratio.mean():.4g}" if ratio.mean() < 1 else f"multiplied by {ratio.mean():.4g}"
        return f"all frequencies are {how}: linear scaling is missing, doubled or has another factor"
    if rope is not None and (base := _base_of(found, rope, seq, allowed)) is not None:
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


def _base_of(found: Frequencies, rope: Rope, seq: int, allowed: float) -> float | None:
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
    return float(f"{math.exp(log):.6g}") if _close(found, with_base(log), allowed) else None
