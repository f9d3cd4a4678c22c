"""The trace of an attention layer of another library, computed from its inputs and verified against its output.

The rotation is measured and rebuilt (:mod:`whatwhere.trace.rotation`). The attention that follows from the trace, times
the layer's own values, must then equal the layer's output. This one comparison covers the scale, the mask, sliding
windows, grouped keys, caps and sinks, for any kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.rotation import ANGLES, NotARotation, Planes, measure

TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""The allowed relative error of a rebuilt number, by the model's precision."""
PER_POSITION = 2e-7
"""Models compute angles in float32, so the error of an angle grows with the position; in radians per position."""
CHECKED_QUERIES = 4
"""Queries of a layer whose attention is rebuilt and compared."""


@dataclass(frozen=True, eq=False, repr=False)
class LayerCall:
    """One call of an attention layer. Keys and values may be grouped: query heads in equal runs share a group."""

    layer: int
    queries: Float[Tensor, "batch head seq d_head"]
    """As they entered the dot product: after rotation."""
    keys: Float[Tensor, "batch group seq d_head"]
    plain_queries: Float[Tensor, "batch head seq d_head"]
    """Before rotation, after any normalisation."""
    plain_keys: Float[Tensor, "batch group seq d_head"]
    planes: Planes
    values: Float[Tensor, "batch group seq d_value"]
    output: Float[Tensor, "batch seq head d_value"]
    """What the layer returned, before the output projection."""
    mask: Tensor | None
    """``[batch or 1, 1, seq, seq]``: True or 0 where a query may look; None: see ``causal``."""
    causal: bool
    """Without a mask: whether a query sees the keys up to it, or all."""
    scale: float
    cap: float | None = None
    sink: Float[Tensor, "head"] | None = None


@dataclass(frozen=True)
class LayerMeasurement:
    """What was measured of a layer besides its trace."""

    layout: str
    """How the coordinates of its heads are paired; see :attr:`Planes.layout`."""
    first: int
    """The first rotated coordinate."""
    factor: float
    """The factor of the rotated coordinates; the queries and keys of the trace already include it."""
    error: float
    """The largest error of the rebuilt output, relative to the largest value."""
    angle_error: float
    """The possible error of the angle at the last position, in radians."""


def layer_trace(
    seen: LayerCall, places: Int[Tensor, "*each query"], declared: Iterable[Tensor], name: str
) -> tuple[LayerTrace, LayerMeasurement]:
    """The trace of a layer at some query positions, and its other measurements.

    ``declared`` are the frequency tables that the model holds; ``name`` is for errors.

    Raises:
        WhatwhereError: the rotation or the attention cannot be rebuilt.
    """
    seq = seen.keys.shape[2]
    tolerance = TOLERANCE[seen.keys.dtype] + PER_POSITION * seq
    order, turning = seen.planes.order.to(seen.keys.device), 2 * seen.planes.count
    exact = torch.promote_types(seen.keys.dtype, torch.float32)
    plain_queries, plain_keys, queries, keys = (
        x.to(exact)[..., order] for x in (seen.plain_queries, seen.plain_keys, seen.queries, seen.keys)
    )
    plain = torch.cat([plain_queries.flatten(0, 1), plain_keys.flatten(0, 1)])  # [row, seq, d_head]
    turned = torch.cat([queries.flatten(0, 1), keys.flatten(0, 1)])
    try:
        found = measure(plain, turned, seen.planes.count, declared, tolerance)
    except NotARotation as reason:
        raise WhatwhereError(f"{name} cannot be read: in layer {seen.layer} {reason}.") from reason
    stretch = plain_keys.new_ones(len(order))
    stretch[:turning] = found.factor  # it belongs to the vectors, so that the trace's rotation is a pure one
    plain_queries, plain_keys = plain_queries * stretch, plain_keys * stretch
    group = queries.shape[1] // keys.shape[1]
    visible = _visible(seen, places)
    layer = LayerTrace(
        layer=seen.layer,
        queries=_at(plain_queries, places),
        keys=plain_keys.repeat_interleave(group, 1),
        rotation=found.rotation,
        scale=seen.scale,
        query_positions=places if visible.ndim == 2 else places.expand(len(keys), -1),
        visible=visible,
        cap=seen.cap,
        sink=None if seen.sink is None else seen.sink.detach().to(exact),
    )
    error = _output_error(layer, seen, group)
    if not error <= tolerance:
        raise WhatwhereError(
            f"{name} cannot be read: in layer {seen.layer} the attention rebuilt from its queries and keys gives an "
            f"output that differs from its own by {error:.1g} of the largest value, and {tolerance:.1g} is allowed. "
            "Its attention does something that a trace does not hold."
        )
    measurement = LayerMeasurement(seen.planes.layout, seen.planes.first, found.factor, error, ANGLES * tolerance)
    return layer, measurement


def _at(x: Float[Tensor, "batch head seq d_head"], places: Tensor) -> Float[Tensor, "batch head query d_head"]:
    if places.ndim == 1:
        return x[:, :, places]
    return x.take_along_dim(places[:, None, :, None], 2)


def _visible(seen: LayerCall, places: Int[Tensor, "*each query"]) -> Bool[Tensor, "*seen query key"]:
    """The mask's rows of the asked queries: one set for all inputs, if they all see the same."""
    keys = torch.arange(seen.keys.shape[2], device=places.device)
    if seen.mask is None:
        rows = keys <= places[..., None]
        return rows if seen.causal else torch.ones_like(rows)
    mask = seen.mask[:, 0, :, : len(keys)]  # [batch or 1, seq, key]
    batch = len(seen.keys)
    at = places.expand(batch, -1)  # [batch, query]
    rows = mask.expand(batch, -1, -1).take_along_dim(at[..., None], 1)
    rows = rows if rows.dtype == torch.bool else rows == 0
    return rows[0] if places.ndim == 1 and bool((rows == rows[:1]).all()) else rows


def _output_error(layer: LayerTrace, seen: LayerCall, group: int) -> float:
    """The error of the rebuilt output (attention times values) of a few queries that see at least one key."""
    asked = layer.queries.shape[2]
    some = torch.linspace(0, asked - 1, min(CHECKED_QUERIES, asked), device=layer.keys.device).long()
    few = layer.of_queries(some)
    values = seen.values.to(layer.keys).repeat_interleave(group, 1)  # [batch, head, key, d_value]
    rebuilt = few.attention() @ values
    own = _at(seen.output.to(layer.keys).transpose(1, 2), few.query_positions)
    largest = float(values.abs().max())
    blind = ~few.visible.any(-1)  # [*each, query]
    difference = (rebuilt - own).abs().masked_fill(blind[..., None, :, None], 0)
    return float(difference.max()) / largest if largest else 0.0
