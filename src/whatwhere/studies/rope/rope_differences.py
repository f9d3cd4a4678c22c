"""What differs between the rotations that were found and those that should be, with the layer and the cause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from whatwhere.studies.rope.expected_rope import RopeFacts
from whatwhere.studies.rope.measured_rope import MeasuredModel, Order
from whatwhere.studies.rope.rope_causes import Close, cause_of, close_within
from whatwhere.studies.rope.scaling_rules import Frequencies
from whatwhere.studies.rope.tables import Difference

NUMBERS = 1e-3
"""Factors and scales that differ by a smaller share are the same."""
_PAIRS = {"half": "half-split", "interleaved": "interleaved", "other": "in no usual way", "none": "not at all"}


def differences(
    one: MeasuredModel, expected: Sequence[RopeFacts], against: str, orders: Sequence[Order] | None = None
) -> list[Difference]:
    """Compares a model with its configuration, or with another model.

    Args:
        one: the model.
        expected: how its layers should be.
        against: what says so, for people.
        orders: how the coordinates of its keys stand against those of the other model, if it is one.
    """
    inverted = _inverted(one.found, expected)
    rows = []
    for at, (found, wanted) in enumerate(zip(one.found, expected, strict=True)):
        kinds = {
            each.kind: each.frequencies
            for each in expected
            if each.kind != wanted.kind and each.frequencies is not None and len(each.frequencies)
        }
        close = close_within(one.allowed[at])
        parts = [*_turning(found, wanted, inverted, kinds, one.seq, close), *_numbers(found, wanted)]
        parts += _pairing(found, wanted, None if orders is None else orders[at])
        rows += [Difference(one.name, against, found.layer, *part) for part in parts]
    return rows


Part = tuple[str, str, str, str]
"""What differs, what was found, what was expected, and the cause."""


def _inverted(found: Sequence[RopeFacts], expected: Sequence[RopeFacts]) -> bool:
    """Whether just those layers turn that should not; there must be some of both."""
    turns = [bool(len(each.frequencies)) for each in found if each.frequencies is not None]
    should = [bool(len(each.frequencies)) for each in expected if each.frequencies is not None]
    return len(turns) == len(should) and len(set(should)) == 2 and turns == [not each for each in should]


def _turning(
    found: RopeFacts, wanted: RopeFacts, inverted: bool, kinds: dict[str, Frequencies], seq: int, close: Close
) -> Iterator[Part]:
    if found.frequencies is None or wanted.frequencies is None:
        return
    planes, should = len(found.frequencies), len(wanted.frequencies)
    if bool(planes) != bool(should):
        cause = "the pattern of layers without rotation (NoPE) is inverted" if inverted else (
            "a layer that should have no rotation (NoPE) has one" if planes else "a layer that should turn does not"
        )  # fmt: skip
        yield "rotation", _planes(found), _planes(wanted), cause
    elif planes != should:
        whole = wanted.rope is not None and 2 * planes == wanted.rope.head
        cause = "the partial factor is ignored: whole heads turn" if whole else "another share of the head turns"
        yield "width", _planes(found), _planes(wanted), cause
    elif not close(found.frequencies, wanted.frequencies):
        cause = cause_of(found.frequencies, wanted.frequencies, wanted.rope, kinds, seq, close)
        yield "frequencies", _span(found.frequencies), _span(wanted.frequencies), cause


def _numbers(found: RopeFacts, wanted: RopeFacts) -> Iterator[Part]:
    turn = bool(found.frequencies is not None and len(found.frequencies)) and wanted.frequencies is not None
    if turn and not math.isclose(found.factor, wanted.factor, rel_tol=10 * NUMBERS):
        missing = found.factor == 1
        cause = "the lengthening of turned vectors is missing" if missing else "turned vectors are lengthened otherwise"
        yield "lengthening", f"{found.factor:.4g}", f"{wanted.factor:.4g}", cause
    if wanted.scale is not None and found.scale is not None:
        if math.isclose(found.scale, wanted.scale, rel_tol=NUMBERS):
            return
        cause = "logits are multiplied by another scale"
        if math.isclose(found.scale, 1):
            cause = "the attention scale is missing"
        elif math.isclose(found.scale, found.width**-0.5, rel_tol=NUMBERS):
            cause = "the configuration's scale is ignored: it is one over the square root of the width"
        yield "scale", f"{found.scale:.4g}", f"{wanted.scale:.4g}", cause


def _pairing(found: RopeFacts, wanted: RopeFacts, order: Order | None) -> Iterator[Part]:
    """A pairing of its own is no fault if the weights are in the same order as it (then the keys are similar)."""
    here, there = _PAIRS[found.pairing or "none"], _PAIRS[wanted.pairing or "none"]
    both = "none" not in (found.pairing, wanted.pairing) and wanted.pairing is not None
    if not both:
        return
    if order is None:
        if found.pairing != wanted.pairing:
            yield "pairing", here, there, f"coordinates are paired {here} where the family pairs them {there}"
    elif order.interleaved is not None:
        if found.pairing != wanted.pairing:
            cause = f"coordinates are paired {here} instead of {there}, and the weights stand in the same order"
            yield "pairing", here, there, cause
        else:
            rows = ("interleaved", "half-split") if order.interleaved else ("half-split", "interleaved")
            cause = "the rows of queries and keys stand in the order of the other pairing: not permuted on conversion"
            yield "pairing", f"rows {rows[0]}", f"rows {rows[1]}", cause
    elif found.pairing != wanted.pairing and not order.similarity > 0.5:
        yield "pairing", here, there, "coordinates are paired otherwise, and the keys are not similar in any order"


def _planes(facts: RopeFacts) -> str:
    planes = 0 if facts.frequencies is None else len(facts.frequencies)
    return f"{2 * planes} of {facts.width} coordinates turn" if planes else "no rotation"


def _span(frequencies: Frequencies) -> str:
    return f"{frequencies[0]:.4g} to {frequencies[-1]:.4g}"
