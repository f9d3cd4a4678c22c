"""Settings and tables of the study.

A path visits p_0 (the last token), p_1, .., p_h (the answer). ``position`` in the tables of paths is this index; p_r is
h - r hops from the answer, its *distance*. Layers and heads count from 0. A layer of None is "before the first layer".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate

Head = tuple[int, int]
"""A layer and a head of it."""


@dataclass(frozen=True)
class MechanismSettings:
    """The inputs and the examples."""

    inputs: Annotated[int, "Sequences to count on, equally many of each hop class."] = 600
    seed: Annotated[int, "Seed of the sequences."] = 0
    input: Annotated[str | None, "The input that Figures 1 and 3 show, with spaces between its tokens."] = None
    hops: Annotated[int | None, "Hops of the input that Figures 1 and 3 show, if no input is given."] = None
    examples: Annotated[int, "More inputs of each hop class whose attention is kept, for the page."] = 2

    def __post_init__(self) -> None:
        check_least(self, inputs=1, seed=0, examples=0)
        if self.input is not None and self.hops is not None:
            raise WhatwhereError("expected an input to show or its number of hops, got both; leave one of them out.")


@dataclass(frozen=True)
class Example:
    """One input that figures and the page show. Number 0 is the one of Figures 1 and 3."""

    example: int
    hops: int
    tokens: str
    """With spaces between them."""
    path: str
    """The positions from the last token to the answer, with spaces between them."""
    target: int
    """The target window is the tokens before this position: those before the first pointer."""
    answer: str
    predicted: str
    """What the model answers."""


@dataclass(frozen=True)
class Attention:
    """How much attention a query pays to a key, on one example."""

    example: int
    layer: int
    head: int
    query: int
    key: int
    attention: float


@dataclass(frozen=True)
class Content:
    """One entry of the matrix M of the last query, on one example: the logit of a content at a position.

    A swap of the keys i and j gives position i the logit M[j, i] and position j the logit M[i, j].
    """

    example: int
    layer: int
    head: int
    content: int
    """The position whose content it is."""
    position: int
    logit: float


@dataclass(frozen=True)
class Look:
    """Where one position of example 0 looks in one layer, and what can be read there afterwards (Figure 3)."""

    source: str
    """``trained`` for the model, ``ideal`` for the paper's functions."""
    layer: int
    position: int
    key: int
    """The position that gets most attention."""
    weight: float
    """Its share of the attention; 1 for the ideal."""
    head: int | None
    """The head that pays it: of several heads, the one that pays most to a single key."""
    token: str
    """What can be read afterwards: the most likely token in the model's unembedding; the token itself for the ideal."""
    chance: float
    """The probability that the unembedding gives it; 1 for the ideal."""
    function: str
    """``index``, ``retrieval`` or ``reflexive`` for the ideal; empty for the model."""


@dataclass(frozen=True)
class Readable:
    """The share of solved inputs of a hop class in which the answer can be read at p_position after a layer."""

    hops: int
    position: int
    layer: int | None
    share: Estimate


@dataclass(frozen=True)
class Delivery:
    """The share of path positions at a distance from the answer to which a layer brings it."""

    layer: int
    distance: int
    share: Estimate


@dataclass(frozen=True)
class Move:
    """Of the answers that a layer brings: the share for which a head looked so many hops nearer to the answer."""

    layer: int
    head: int
    hops_nearer: int | None
    """1 is what the paper's functions do, more is a shortcut, 0 is itself; None leads elsewhere."""
    share: Estimate


@dataclass(frozen=True)
class LayersUsed:
    """How many layers pass until the answer can be read at the last position for good."""

    hops: int
    layers: Estimate
    """Mean over inputs. One hop per layer needs as many layers as hops."""
    doubling: int
    """1 + ceil(log2 hops): layers that a scheme of pointer doubling needs (docs/tasks.md)."""
    fewer: Estimate
    """The share of inputs that took fewer layers than hops, which one hop per layer cannot."""
    never: int
    """Inputs left out because the answer could never be read, though the model gave it."""


@dataclass(frozen=True)
class Pointer:
    """How well a linear probe decodes the address of p_ahead at the last position after a layer."""

    layer: int | None
    ahead: int
    share: Estimate
    guess: float
    """What always naming the commonest address gives."""


@dataclass(frozen=True)
class Kind:
    """Scores and label of a head at the last token (tau 1e-4, gamma 0.1)."""

    layer: int
    head: int
    label: str
    """``positional``, ``symbolic``, ``uniform``, ``mixed`` or ``undefined``."""
    positional: Estimate
    symbolic: Estimate


@dataclass(frozen=True)
class Ablation:
    """The accuracy of one hop class before and after one head is replaced by its mean over inputs."""

    layer: int
    head: int
    hops: int
    before: Estimate
    after: Estimate
    loss: float
    """Before minus after, on the same inputs."""
    p_value: float
    """McNemar's exact test that more answers are lost than gained."""
    needed: bool
    """Whether the loss is above 0.05 and the p-value below 0.001."""


@dataclass(frozen=True)
class GroupAblation:
    """The same for several heads together."""

    family: str
    """``late layers``; ``kind`` or ``kind at gamma 0.2`` (all heads of a label); ``all but`` (only a set is left)."""
    group: str
    heads: str
    """The heads that are ablated, as ``layer.head``, with spaces between them."""
    hops: int
    before: Estimate
    after: Estimate
    loss: float
    p_value: float
    needed: bool


@dataclass(frozen=True)
class Verdict:
    """What a head looks like, and whether ablation confirms it."""

    layer: int
    head: int
    role: str
    """The commonest role of its strongest key, at the distances that its layer serves (or all, if it serves none)."""
    share: Estimate
    serves: str
    """Distances to which its layer brings the answer."""
    expected: str
    """Hop classes that depend on that."""
    needed_by: str
    """Hop classes that need the head: see :class:`Ablation`."""
    verdict: str
    """``confirmed``, ``partly``, ``not needed``; ``needed otherwise`` if it brings nothing but is needed; ``idle``."""


@dataclass(frozen=True)
class Elimination:
    """One step of the search for the fewest heads that suffice for a hop class; the last step is one too many."""

    hops: int
    kept: int
    """Heads that are left after this step; all others are ablated."""
    removed: str
    """The heads that this step ablates in addition; empty for the whole model."""
    accuracy: Estimate
    """On the inputs of the search."""
    held_out: Estimate
    """On other inputs, which end the search: a last step that costs too much there is taken back."""


@dataclass(frozen=True)
class SufficientSet:
    """The fewest heads found that keep 0.95 of a hop class's accuracy while all others are ablated.

    They do so on the inputs of the search and on the held-out inputs that end it.
    """

    hops: int
    size: int
    all_heads: int
    heads: str
    """As ``layer.head``, with spaces between them."""
    accuracy: Estimate
    held_out: Estimate
    whole: Estimate
    """The accuracy of the whole model on the held-out inputs."""


@dataclass(frozen=True)
class ConfirmedSet:
    """What a sufficient set keeps on inputs that neither the search nor its end has seen."""

    hops: int
    heads: str
    alone: Estimate
    """The accuracy while all other heads are ablated."""
    whole: Estimate
    """The accuracy of the whole model."""


@dataclass(frozen=True)
class Patched:
    """How often a patch turns the answer into that of an input in which one hop is changed."""

    hops: int
    changed_hop: int
    """From 1: the first hop starts at the last token."""
    layer: int
    position: int
    """All that this position knows after the layer is patched."""
    share: Estimate
    same_hops: int
    """Pairs of inputs whose hop counts are equal; in the others the path gets shorter."""


@dataclass(frozen=True)
class Chain:
    """The accuracy at one hop count, trained on or not."""

    hops: int
    trained: bool
    """Whether it is a hop class of training."""
    accuracy: Estimate
    guess: float
    """The accuracy of guessing among the target tokens that look like the answer; 1 if nothing hides it."""


def write_heads(heads: Collection[Head]) -> str:
    """``2.0 3.0`` for the head 0 of the layers 2 and 3."""
    return " ".join(f"{layer}.{head}" for layer, head in sorted(heads))


def read_heads(text: str) -> list[Head]:
    """The inverse of :func:`write_heads`."""
    return [(int(layer), int(head)) for layer, _, head in (name.partition(".") for name in text.split())]
