"""Frequency use: how much of a head's logits comes from each rotary plane (Section 3.5, Figure "angles", Table 1).

A logit is exactly a sum over planes: ``logit_j = sum_k logit_(j,k)``, with ``logit_(j,k)`` the product of key j
and the turned query within plane k. The paper speaks of a weighted average frequency without saying what weighs it
(erratum E14), so there are three measures of a plane's weight c_k, each per input and query:

- ``norm`` (W1): the mean over keys of ``|q_k| |k_(j,k)|``, how large the plane's logits could be;
- ``variance`` (W2, the default): ``sum_j a_(j,k) a_j / sum_j a_j^2`` with a the logits less their mean over keys: the
  share of what tells keys apart. The shares sum to 1 (less that of coordinates that are not rotated), some below 0;
- ``margin`` (W3): the logit of the strongest key less the mean of the others, within the plane.

Weights are averaged over inputs, and negative means count as 0. The *weighted ID* is ``round(sum k c_k / sum c_k)``:
the table's frequencies are exactly those of whole IDs, so IDs are averaged and then rounded, not angles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import bootstrap_means, percentiles
from whatwhere.trace.layer import LayerTrace, Trace

MEASURES = ("norm", "variance", "margin")
TILE = 1 << 22
"""Plane logits (float64) in memory at a time."""


@dataclass(frozen=True, eq=False)
class FrequencyUse:
    """The weight of every plane, for some layers and heads."""

    each: Float[np.ndarray, "layer batch head plane"]
    """Per input, averaged over the traced queries; NaN where undefined. May be below 0."""
    layers: tuple[int, ...]
    frequencies: Float[np.ndarray, "plane"]
    """Radians per position, by plane; entry k belongs to the paper's ID k + 1."""
    measure: str

    @property
    def weights(self) -> Float[np.ndarray, "layer head plane"]:
        """Means over the inputs for which the weights are defined; NaN if there is none."""
        return torch.from_numpy(self.each).nanmean(1).numpy()

    @property
    def undefined(self) -> Int[np.ndarray, "layer head"]:
        """How many inputs have no weights and are left out."""
        return np.isnan(self.each[..., 0]).sum(1)

    @property
    def weighted_id(self) -> Float[np.ndarray, "layer head"]:
        """The paper's frequency ID, before rounding; NaN where no plane has a weight above 0."""
        return weighted_id(self.weights)

    @property
    def dominant(self) -> Float[np.ndarray, "layer head"]:
        """The ID of the plane with the largest weight, from 1; NaN where undefined."""
        weights = self.weights
        return np.where(np.isnan(weights[..., 0]), np.nan, np.nan_to_num(weights).argmax(-1) + 1.0)

    def intervals(self, seed: int = 0) -> Intervals:
        """95 % intervals of the weights and of the weighted ID: bootstrap over inputs."""
        by_input = self.each.swapaxes(0, 1)  # [batch, layer, head, plane]
        found = []
        for layer in range(len(self.layers)):  # layer by layer, to limit memory
            means = bootstrap_means(by_input[:, layer], seed=seed)  # [resample, head, plane]
            found.append((*percentiles(means), *percentiles(weighted_id(means))))
        return Intervals(*map(np.stack, zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class Intervals:
    """The ends of the intervals of :class:`FrequencyUse`."""

    weights_low: Float[np.ndarray, "layer head plane"]
    weights_high: Float[np.ndarray, "layer head plane"]
    id_low: Float[np.ndarray, "layer head"]
    id_high: Float[np.ndarray, "layer head"]


def weighted_id(weights: Float[np.ndarray, "*any plane"]) -> Float[np.ndarray, "*any"]:
    """The mean ID under some weights (negative ones count as 0); NaN where they are all 0 or undefined."""
    kept = np.clip(weights, 0, None)
    total = kept.sum(-1)
    ids = np.arange(1, weights.shape[-1] + 1)
    return np.divide(kept @ ids, total, out=np.full_like(total, np.nan), where=total > 0)


def frequency_use(trace: Trace, measure: str = "variance") -> FrequencyUse:
    """Weighs every plane of every traced head by one of :data:`MEASURES`.

    Raises:
        WhatwhereError: there is no such measure, nothing was traced, the heads do not rotate, or rotate differently.
    """
    if measure not in MEASURES:
        raise WhatwhereError(f"expected a measure of {', '.join(MEASURES)}, got {measure!r}; choose one of them.")
    trace.check_not_empty()
    first = trace.layers[0].rotation.frequencies
    if not len(first):
        raise WhatwhereError(
            "expected heads with rotary planes, got heads that rotate no coordinate; choose other layers."
        )
    for layer in trace.layers:
        if not torch.equal(layer.rotation.frequencies, first):
            raise WhatwhereError(
                f"expected layers with the same rotation, got layer {layer.layer} with another one than layer "
                f"{trace.layers[0].layer}; weigh one layer at a time: frequency_use(Trace((layer,)))."
            )
    return FrequencyUse(
        each=torch.stack([_weigh_layer(layer, measure) for layer in trace.layers]).cpu().numpy(),
        layers=tuple(layer.layer for layer in trace.layers),
        frequencies=first.cpu().numpy(),
        measure=measure,
    )


def plane_logits(layer: LayerTrace, query: int) -> Float[Tensor, "batch head key plane"]:
    """The logits of one query (an index into the traced ones), plane by plane.

    Their sum over planes is the logit before any cap, if the whole head is rotated; otherwise coordinates that are not
    add the rest.
    """
    return _by_plane(layer, layer.amplitudes(query) * layer.waves(query).T)


def _weigh_layer(layer: LayerTrace, measure: str) -> Float[Tensor, "batch head plane"]:
    parts = layer.parts(TILE // layer.keys[0].numel())
    if measure == "variance":
        return torch.cat([_variance(part).nanmean(2) for part in parts])
    weigh = _norm if measure == "norm" else _margin
    queries = range(layer.queries.shape[2])
    return torch.cat([torch.stack([weigh(part, query) for query in queries]).nanmean(0) for part in parts])


def _norm(layer: LayerTrace, query: int) -> Float[Tensor, "batch head plane"]:
    asked = layer.rotation.planes(layer.queries[:, :, query] * layer.scale).norm(dim=-1)  # [batch, head, plane]
    return asked * layer.rotation.planes(layer.keys[:, :, layer.visible[query]]).norm(dim=-1).mean(-2)


def _variance(layer: LayerTrace) -> Float[Tensor, "batch head query plane"]:
    """Of all queries, some at a time.

    A plane's logits are products of rotated keys and the rotated query, so their sum over keys, each weighted by the
    centred logit, is the product of the query and one sum of keys. (Centred logits sum to 0, so the mean of the plane's
    own logits need not be subtracted.)
    """
    keys = layer.rotation.turn(layer.keys, layer.key_positions)  # [batch, head, key, d_head]
    some = max(1, TILE // keys[..., 0].numel())
    found = []
    for start in range(0, layer.queries.shape[2], some):
        part = layer.of_queries(slice(start, start + some))
        asked = layer.rotation.turn(part.queries, part.query_positions) * layer.scale  # [batch, head, query, d_head]
        seen = part.visible.to(keys)  # [query, key]
        total = (asked @ keys.mT) * seen  # [batch, head, query, key]
        centred = (total - total.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True)) * seen
        spread = centred.square().sum(-1, keepdim=True)  # [batch, head, query, 1]
        share = layer.rotation.planes(asked * (centred @ keys)).sum(-1) / spread  # [batch, head, query, plane]
        # Equal logits differ by rounding only, and shares of that would be noise.
        found.append(share.masked_fill(spread <= 1e-20 * (1 + total.square().sum(-1, keepdim=True)), torch.nan))
    return torch.cat(found, 2)


def _margin(layer: LayerTrace, query: int) -> Float[Tensor, "batch head plane"]:
    waves = (layer.amplitudes(query) * layer.waves(query).T)[:, :, layer.visible[query]]  # [batch, head, key, wave]
    by_plane, total = _by_plane(layer, waves), waves.sum(-1)
    others = total.shape[-1] - 1
    if others == 0:
        return torch.full_like(by_plane[:, :, 0], torch.nan)
    strongest = total.argmax(-1)  # [batch, head]
    top = by_plane.take_along_dim(strongest[..., None, None], -2).squeeze(-2)
    return top - (by_plane.sum(-2) - top) / others


def _by_plane(layer: LayerTrace, waves: Float[Tensor, "batch head key wave"]) -> Float[Tensor, "batch head key plane"]:
    """The sum of the cosine and sine part of each plane, without coordinates that are not rotated."""
    planes = len(layer.rotation.frequencies)
    return waves[..., :planes] + waves[..., planes : 2 * planes]
