"""Settings and tables of the study ``length``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError, WhatwhereWarning, check_least
from whatwhere.heads.estimate import Estimate

AS_TRAINED = "as trained"
"""The model without a change at inference."""
MEASURED, PREDICTED = "measured", "predicted"
"""Sources: inputs of each length, or inputs of the training length alone."""
MARGIN, MASS = "margin", "mass"
"""Rules by which a hop holds: the right key leads, or it has more than half of the attention."""
ACCURACY = "accuracy"
THRESHOLDS = (0.9, 0.5)
WORKING = 0.9
"""The mean attention on the right key, at the training length, from which a cell does its hop."""
Cell = tuple[int, int, int, int]
"""A kind of hop in a head: layer, head, hops to go, jump."""
NoCell = tuple[None, None, None, None]
FEWEST = 16
FAR = 325
"""Tokens from which on inputs are far."""


@dataclass(frozen=True)
class LengthSettings:
    """What is measured."""

    inputs: Annotated[int, "Sequences up to length 32; length n gets 32/n of them, and at least an eighth."] = 600
    lengths: Annotated[tuple[int, ...], "Lengths in tokens beyond that of training, which is always measured."] = (
        25, 33, 41, 49, 57, 65, 81, 97, 145, 325, 850, 1000,
    )  # fmt: skip
    far_inputs: Annotated[int, "Sequences of 325 tokens or more, at least."] = 400
    varied_lengths: Annotated[tuple[int, ...], "Lengths at which changes at inference are measured; may be empty."] = (
        33, 65, 145, 325,
    )  # fmt: skip
    finer: Annotated[int, "Further lengths in each gap in which half of the answers may begin to fail."] = 7
    seed: Annotated[int, "Seed of the sequences and of the intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=FEWEST, far_inputs=1, finer=0)
        shortest = min((*self.lengths, *self.varied_lengths), default=1)
        if shortest < 1:
            raise WhatwhereError(f"expected lengths of 1 token or more, got {shortest}.")

    def sequences(self, length: int, *, varied: bool = False) -> int:
        """How many sequences: about 32 tokens for each of ``inputs``, and never below an eighth of them.

        Variations get a quarter of that, and at least a sixth of the fewest. Far inputs, of which the paper speaks, get
        more.
        """
        if varied:
            return max(min(self.inputs // 4, 32 * (self.inputs // 4) // length), self.inputs // 48, 1)
        return max(min(self.inputs, 32 * self.inputs // length), self.inputs // 8, self.far_inputs * (length >= FAR))


def from_trained(trained: int, lengths: tuple[int, ...]) -> list[int]:
    """The training length and the longer ones among some lengths; a user is told which are too short."""
    if short := [length for length in lengths if length < trained]:
        warnings.warn(
            f"Inputs of {', '.join(map(str, short))} tokens are left out: the model was trained on {trained} tokens, "
            "and only longer inputs are measured besides.",
            WhatwhereWarning,
            stacklevel=3,
        )
    return [trained, *sorted({length for length in lengths if length > trained})]


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of one hop class at one length."""

    variation: str
    """``as trained``, or the change at inference."""
    length: int
    hop: int | None
    """The hop class; none for the mean over classes."""
    accuracy: Estimate


@dataclass(frozen=True)
class Hop:
    """One cell at one length: how well a head does one kind of hop (the discrepancy of Section 3.5, measured)."""

    source: str
    """``measured`` on inputs of this length, or ``predicted`` from the training length."""
    length: int
    layer: int
    head: int
    to_go: int
    """Hops from the query to the answer."""
    jump: int
    """Hops that the head takes at once."""
    margin: Estimate
    """Logit of the right key less the largest of a key that means something else; its mean over inputs."""
    mass: Estimate
    """Attention on the right key; its mean over inputs."""
    leads: Estimate
    """Share of inputs with a margin above 0: hard attention would be right."""
    holds: Estimate
    """Share of inputs with more than half of the attention on the right key."""

    @property
    def cell(self) -> Cell:
        """Which kind of hop, in which head."""
        return self.layer, self.head, self.to_go, self.jump


@dataclass(frozen=True)
class Chain:
    """Whole paths of one hop class at one length: do all working cells of the path hold?"""

    source: str
    rule: str
    """``margin``: every right key leads; ``mass``: every right key has more than half of the attention."""
    length: int
    hop: int | None
    share: Estimate
    cells: int
    """How many cells work."""


@dataclass(frozen=True)
class Break:
    """The length at which a share of inputs falls below a threshold."""

    what: str
    """``accuracy``; ``chain margin``, ``chain mass`` (all working cells of a path); ``margin``, ``mass`` (one cell)."""
    source: str
    hop: int | None
    """The hop class of accuracy and chains; none for the mean over classes, and for a cell."""
    layer: int | None
    """Of a cell; none otherwise."""
    head: int | None
    to_go: int | None
    jump: int | None
    threshold: float
    length: Estimate
    """Interpolated in the logarithm of length; undefined if the share stays above within the lengths measured. The ends
    are lengths that were measured."""
    longest: int
    """The longest length measured."""

    @property
    def cell(self) -> Cell | NoCell:
        """The cell that it is about; all None if it is about none."""
        return self.layer, self.head, self.to_go, self.jump  # pyright: ignore[reportReturnType] (all or none are None)


def working_cells(rows: Sequence[Hop], trained: int) -> list[Cell]:
    """The cells that do their hop at the training length: a mean attention of at least WORKING on the right key."""
    return [r.cell for r in rows if (r.source, r.length) == (MEASURED, trained) and r.mass.value >= WORKING]
