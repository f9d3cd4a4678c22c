"""Interventions: changes of a model's attention, described independently of the model (DESIGN, section 1).

Any traceable model can be run and traced with them, and the trace includes the change. There are two kinds:

- a change of a layer's attention (:class:`ClosePlanes`, :class:`MaskFar`, :class:`ScaleLogits`, :class:`ScaleAngles`)
  is a function from the layer's trace to another trace, whose attention the layer then has;
- a change of a head's output (:class:`Ablate`, :class:`Patch`, :class:`Write`) replaces attention times values, before
  the output projection. The head's attention stays unchanged.

The changes of attention apply in the given order; then the outputs of heads are replaced. Replacement outputs come from
a run of the same model without interventions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import Rotation
from whatwhere.trace.layer import LayerTrace

Head = tuple[int, int]
"""A layer and a head of it, both from 0."""


class Intervention:
    """One change: of the trace of a layer, or of the output of a head."""

    layers: tuple[int, ...] | None = None
    """Where; None for all layers."""
    heads: tuple[Head, ...] | None = None
    """Where, instead of whole layers; None if it changes whole layers."""

    def check(self, depth: int, heads: int) -> None:
        """Refuses layers and heads that a model of this size does not have."""
        for layer, head in self.heads or ():
            _check_range("layer", layer, depth)
            _check_range("head", head, heads)
        for layer in self.layers or ():
            _check_range("layer", layer, depth)

    def changes(self, layer: int) -> bool:
        """Whether it changes something in this layer."""
        if self.heads is not None:
            return any(layer == named for named, _ in self.heads)
        return self.layers is None or layer in self.layers

    def attend(self, layer: LayerTrace, starts: Int[Tensor, "*each"]) -> LayerTrace:
        """The trace of the layer after the change.

        ``starts`` is the position of the first token, for all inputs or for each; above 0 after padding.
        """
        del starts
        return layer


@dataclass(frozen=True)
class OneHead(Intervention):
    """A change of the output of one head."""

    layer: int
    head: int

    @property
    def heads(self) -> tuple[Head, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The one head."""
        return ((self.layer, self.head),)


@dataclass(frozen=True)
class Ablate(OneHead):
    """Replaces the output of a head by its mean over the given inputs, position by position, or by zero."""

    to: str = "mean"

    def __post_init__(self) -> None:
        if self.to not in ("mean", "zero"):
            raise WhatwhereError(f"expected an ablation to 'mean' or 'zero', got {self.to!r}.")


@dataclass(frozen=True, eq=False)
class Patch(OneHead):
    """Replaces the output of a head by its output on other tokens of the same shape (activation patching)."""

    tokens: Any = field(repr=False)


@dataclass(frozen=True, eq=False)
class Write(OneHead):
    """Replaces the output of a head by given vectors, one for each position, such as its mean over a data set."""

    value: Float[Tensor, "*batch seq d_value"] = field(repr=False)


@dataclass(frozen=True)
class ClosePlanes(Intervention):
    """Removes the contribution of rotary planes to the logits (Section 3.5 asks which frequencies a task uses).

    Args:
        planes: frequency IDs, from 1; 1 is the fastest.
        layers: where; all by default. Layers without planes do not change.
        heads: (layer, head) pairs, instead of whole layers.
    """

    planes: tuple[int, ...]
    layers: tuple[int, ...] | None = None
    heads: tuple[Head, ...] | None = None

    def __post_init__(self) -> None:
        if self.layers is not None and self.heads is not None:
            raise WhatwhereError("expected layers or heads in which planes are closed, got both; name one of them.")

    def attend(self, layer: LayerTrace, starts: Int[Tensor, "*each"]) -> LayerTrace:
        """See :class:`Intervention`."""
        del starts
        planes = len(layer.rotation.frequencies)
        if not planes:
            return layer
        for plane in self.planes:
            if not 1 <= plane <= planes:
                raise WhatwhereError(f"expected plane IDs from 1 to {planes} in layer {layer.layer}, got {plane}.")
        closed = layer.rotation.coordinates([plane - 1 for plane in self.planes])
        gate = layer.queries.new_ones(layer.queries.shape[1], 1, layer.queries.shape[3])  # [head, 1, d_head]
        gate[_rows(self.heads, layer), :, closed[:, None]] = 0
        return replace(layer, queries=layer.queries * gate)


@dataclass(frozen=True)
class MaskFar(Intervention):
    """Lets each query see only the most recent and the first keys, as with a streaming KV cache.

    Args:
        recent: how many keys before and with the query's own; at least 1.
        first: how many keys at the start of the input; padding does not count.
        heads: (layer, head) pairs; all heads by default.
    """

    recent: int
    first: int = 0
    heads: tuple[Head, ...] | None = None

    def __post_init__(self) -> None:
        if self.recent < 1 or self.first < 0:
            raise WhatwhereError(
                f"expected recent of at least 1 and first of at least 0, got {self.recent} and {self.first}: "
                "a query must see a key."
            )

    def attend(self, layer: LayerTrace, starts: Int[Tensor, "*each"]) -> LayerTrace:
        """See :class:`Intervention`."""
        keys, places = layer.key_positions, layer.query_positions[..., None]
        near = (keys > places - self.recent) | (keys < (starts[..., None, None] + self.first))  # [*each, query, key]
        if self.heads is None:
            return replace(layer, visible=layer.visible & (near if layer.visible.ndim < 4 else near[..., None, :, :]))
        batch, heads = layer.keys.shape[:2]
        visible, near = (x if x.ndim == 4 else x[..., None, :, :] for x in (layer.visible, near))
        visible = visible.expand(batch, heads, -1, -1).clone()  # [batch, head, query, key]
        masked = _rows(self.heads, layer)
        visible[:, masked] &= near.expand(batch, heads, -1, -1)[:, masked]
        return replace(layer, visible=visible, query_positions=layer.query_positions.expand(batch, -1))


@dataclass(frozen=True)
class ScaleLogits(Intervention):
    """Multiplies the logits: a factor above 1 sharpens attention, one below 1 flattens it (Section 3.6)."""

    factor: float
    layers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not (self.factor >= 0 and math.isfinite(self.factor)):
            raise WhatwhereError(f"expected a finite factor of at least 0 for the logits, got {self.factor}.")

    def attend(self, layer: LayerTrace, starts: Int[Tensor, "*each"]) -> LayerTrace:
        """See :class:`Intervention`."""
        del starts
        # factor * cap * tanh(x / cap) is again a capped layer, with scale and cap multiplied.
        cap = None if layer.cap is None or not self.factor else layer.cap * self.factor
        sink = None if layer.sink is None else layer.sink * self.factor
        return replace(layer, scale=layer.scale * self.factor, cap=cap, sink=sink)


@dataclass(frozen=True)
class ScaleAngles(Intervention):
    """Multiplies the rotation angles: position interpolation, another base, or no rotation.

    Args:
        factors: one for all planes, or one for each, from ID 1. 0 stops a plane; ``n_0 / n`` interpolates an input of
            length n to the trained length n_0.
        layers: where; all by default.
    """

    factors: float | tuple[float, ...]
    layers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not all(math.isfinite(factor) for factor in _as_tuple(self.factors)):
            raise WhatwhereError(f"expected finite factors for the angles, got {self.factors}.")

    def attend(self, layer: LayerTrace, starts: Int[Tensor, "*each"]) -> LayerTrace:
        """See :class:`Intervention`."""
        del starts
        planes, factors = len(layer.rotation.frequencies), _as_tuple(self.factors)
        if not planes:
            return layer
        if len(factors) not in (1, planes):
            raise WhatwhereError(
                f"expected one factor, or one for each of the {planes} planes of layer {layer.layer}, "
                f"got {len(factors)}."
            )
        frequencies = layer.rotation.frequencies * torch.tensor(factors, dtype=torch.float64)
        return replace(layer, rotation=Rotation(frequencies, layer.rotation.layout))


def _check_range(what: str, index: int, count: int) -> None:
    """Refuses an index that does not exist."""
    if not (isinstance(index, Integral) and 0 <= index < count):
        raise WhatwhereError(f"expected a {what} from 0 to {count - 1}, got {index!r:.40}.")


def _as_tuple(factors: float | tuple[float, ...]) -> tuple[float, ...]:
    return factors if isinstance(factors, tuple) else (factors,)


def _rows(heads: tuple[Head, ...] | None, layer: LayerTrace) -> list[int]:
    """The given heads that are in this layer; all heads for None."""
    if heads is None:
        return list(range(layer.queries.shape[1]))
    return [head for at, head in heads if at == layer.layer]
