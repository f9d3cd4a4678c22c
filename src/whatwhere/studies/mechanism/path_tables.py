"""Tables of what flows along the path: edges between heads, selective copying, what keeps the answer at its end.

Words as in :mod:`whatwhere.studies.mechanism.tables`.
"""

from __future__ import annotations

from dataclasses import dataclass

from whatwhere.heads.estimate import Estimate


@dataclass(frozen=True)
class Edge:
    """How much of a changed answer one head passes on to one later head, from and at positions of the path.

    The effect is a share of the difference between the two answers' logits on the two inputs.
    """

    hops: int
    from_layer: int | None
    """None for the answer's own token."""
    from_head: int | None
    from_position: int
    to_layer: int | None
    """None for the answer that is given."""
    to_head: int | None
    to_position: int
    share: Estimate
    """In the whole model."""
    alone: Estimate
    """In the model of the sufficient heads, all others being ablated."""


@dataclass(frozen=True)
class Copying:
    """What a head does with the place that a pointer of the path indexes, where it attends to it most.

    Pairs of inputs differ in what stands at that place.
    """

    layer: int
    head: int
    position: int
    """The pointer is p_position, the indexed place p_(position + 1)."""
    moment: str
    """``before``: the place still holds a pointer; ``present``: it holds the answer, and the pointer does not;
    ``after``: both hold it."""
    attends: Estimate
    """The share of pairs in which it is the strongest key."""
    logit: Estimate
    """What the head writes from there, in logits of the answer over the mean of the other answers (direct path)."""
    flow: Estimate
    """What a swap of the values at the place between the two inputs does: share of the logit difference."""


@dataclass(frozen=True)
class Selectivity:
    """How selective a head is, or all of them: of what flows along indexed places, the share that comes in time."""

    layer: int | None
    """None for all heads."""
    head: int | None
    before: Estimate
    """Mean flow of a look at a place that still holds a pointer, ..."""
    present: Estimate
    """... and at one to which the answer has come."""
    share: Estimate
    """Of the flow of both, that of the second: 1 if nothing is copied until the answer has come."""


@dataclass(frozen=True)
class DecodedFlow:
    """The same for all heads together, by what decides whether the answer is at a place.

    Of inputs that differ in the answer alone, all flow is the answer's. So what such pairs show ``before`` the answer
    is there is what the decoder misses.
    """

    decoder: str
    """``unembedding`` or ``probe``."""
    changed: str
    """What differs between the inputs of a pair: the ``link`` at the indexed place, or the ``answer`` alone."""
    before: Estimate
    present: Estimate
    share: Estimate
    unclear: Estimate
    """Of all flow before the pointer has the answer, the share of looks that are left out: the two inputs of a pair do
    not agree on the moment."""


@dataclass(frozen=True)
class Decoding:
    """How often the answer can be read at p_position after a layer, by each decoder, on solved inputs of the most hops.

    The probe was fitted on other inputs.
    """

    position: int
    layer: int | None
    unembedding: Estimate
    probe: Estimate
    guess: float
    """What always naming the commonest answer gives."""


@dataclass(frozen=True)
class Keeping:
    """How a layer keeps the answer at the last position, on solved inputs where it can be read there before."""

    layer: int | None
    """None for all layers; ``residual`` is then from the first layer on before which it can be read."""
    there: Estimate
    """The share of inputs where it can be read there before the layer."""
    kept: Estimate
    """Of these, the share where it can be read after the layer too."""
    residual: Estimate
    """The share that is answered right with all heads of this layer and of the later ones ablated."""
    itself: Estimate
    """Attention of the last position to itself, ..."""
    equal: Estimate
    """... to other positions that hold the answer, ..."""
    elsewhere: Estimate
    """... and to all others."""
    itself_logit: Estimate
    """What the heads write from there, in logits of the answer over the mean of the other answers (direct path)."""
    equal_logit: Estimate
    elsewhere_logit: Estimate
