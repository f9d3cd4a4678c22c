"""Settings and tables of the study ``geometry``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import check_least
from whatwhere.heads.estimate import Estimate
from whatwhere.theory.printed import LETTER_IDS, NUMBER_IDS, PLANES

VARIANCE = "variance"
"""The measure by which a head's dominant plane is chosen: the share of the logits' variance."""
AT_POINTERS = " at pointers"
"""After the name of a measure: over the queries of all pointers, not just the last; for mean IDs alone."""
AS_TRAINED, CLOSED, ALONE, SLIDING = "as trained", "closed", "alone", "sliding"
"""Kinds of closing: none, a named band, all other bands, eight neighbouring planes."""
PAPER_IDS = {"number": NUMBER_IDS, "letter": LETTER_IDS}
"""The paper's table "Weighted averaged ID's", by layer."""
PAPER_PLANES = PLANES
FEWEST = 16


@dataclass(frozen=True)
class GeometrySettings:
    """What is measured."""

    inputs: Annotated[int, "Sequences, equally many of each hop count."] = 256
    seed: Annotated[int, "Seed of the sequences and of the intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=FEWEST)


@dataclass(frozen=True)
class PlaneWeight:
    """How much one plane weighs in one head."""

    measure: str
    """``norm``, ``variance`` or ``margin``; see :mod:`whatwhere.heads.frequency`."""
    layer: int
    head: int
    plane: int
    """The ID, from 1."""
    frequency: float
    """Radians per position."""
    weight: Estimate


@dataclass(frozen=True)
class FrequencyId:
    """One line of the paper's table of frequencies: one head under one measure."""

    measure: str
    layer: int
    head: int
    weighted_id: Estimate
    """The mean ID under the weights, before rounding."""
    frequency: float
    """Of the rounded ID."""
    dominant: int | None
    """The ID with the largest weight."""
    dominant_weight: Estimate
    paper_id: int | None
    """What the paper has for this layer."""
    undefined: int
    """Inputs without weights, which are left out."""


@dataclass(frozen=True)
class InPlane:
    """One head and its dominant plane: the first columns of all that follow but the last."""

    layer: int
    head: int
    plane: int


@dataclass(frozen=True)
class KeyAlignment(InPlane):
    """Whether the keys of one head point the same way in its dominant plane."""

    keys: str
    """``all``, or those of the ``target`` window or of ``pointers``."""
    alignment: Estimate
    """Length of the mean unit key: 1 if all point the same way, 0 if they spread evenly or cancel."""


@dataclass(frozen=True)
class QueryTurn(InPlane):
    """How the queries of the number task turn with their integer in the dominant plane of one head."""

    integers: str
    """Which ones: all, those that may point at a pointer, or those that the query needs to reach the target window."""
    slope: Estimate
    """Radians by which the angle grows for each integer."""
    predicted: float
    """Minus the plane's frequency: the construction's slope."""
    r2: float
    """How straight the unwrapped angles lie on their line."""
    agreement: float
    """Length of the mean of unit queries turned forward by ``i g``: 1 if the angles are those of the construction."""
    aim_target: float
    """Cosine between that mean and the mean key of the target window: 1 if the head looks for target tokens."""
    aim_pointers: float
    """The same for the keys of pointers."""


@dataclass(frozen=True)
class LetterMatching(InPlane):
    """Whether the queries for a letter point where its keys do, in the dominant plane of one head."""

    matching: Estimate
    """Mean cosine for equal letters less that for different ones, both centred over letters."""


@dataclass(frozen=True)
class PlaneVector(InPlane):
    """The mean vector of one token's keys or queries in the dominant plane, before rotation."""

    role: str
    """``query`` or ``key``."""
    name: str
    x: float
    y: float
    count: int


@dataclass(frozen=True)
class NullComparison(InPlane):
    """One statement about a head's dominant plane, beside a null; see :mod:`whatwhere.studies.geometry.nulls`."""

    statement: str
    """``queries turn 1-16``, ``keys aligned all``, ``queries match keys``."""
    null: str
    """``other planes``, ``shuffled names`` or ``other layers``."""
    value: float
    nulls: int
    """How many values the null has."""
    reached: int
    """How many of them are as large."""
    median: float
    high: float
    """95 of 100 nulls are below."""


@dataclass(frozen=True)
class GatedAccuracy:
    """Accuracy of one hop class with some planes closed."""

    variation: str
    kind: str
    """``as trained``, ``closed`` (a band), ``alone`` (all other bands closed), ``sliding`` (neighbouring planes)."""
    first: int | None
    """The smallest closed ID; none if nothing is closed."""
    last: int | None
    closed: int
    """How many planes are closed."""
    layers: str | None
    """Where, such as ``0-3``; none for all layers."""
    hop: int | None
    """The hop class; none for the mean over classes."""
    accuracy: Estimate


def clearest_turns(rows: Iterable[QueryTurn]) -> list[QueryTurn]:
    """Of each head the range of integers that agrees best with the construction; undefined ones are left out."""
    best: dict[tuple[int, int], QueryTurn] = {}
    for row in rows:
        at = row.layer, row.head
        if row.agreement >= (best[at].agreement if at in best else 0):
            best[at] = row
    return [best[at] for at in sorted(best)]
