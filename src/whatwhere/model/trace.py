"""The trace: what one attention layer did on some inputs, and all that any analysis needs of it (DESIGN, section 1).

Queries and keys *before* rotation, the rotation, the scale, and which keys each query may see. From them follows the
content-by-position matrix of one query at position n,

    M[a, p] = scale * k_a . R^(n-p) q_n,

the logit that the content of position ``a`` would get if it stood at position ``p``. Its diagonal is the logits that
enter the softmax; the rest answers "what if these two keys changed places", with no further forward pass. As a function
of the place, every row of M is a sum of waves with the frequencies of the rotation; :meth:`LayerTrace.amplitudes` times
:meth:`LayerTrace.waves` is M, or any block of it.

Trained models, hand-built heads and other people's models all yield this object, so each analysis is written once.
Axes: batch, head, query, key (or content and place for the two axes of M), d_head, plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import Rotation

Tokens = np.ndarray | Tensor
"""Token ids ``[batch, seq]``, whole numbers."""


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """One attention layer on a batch of inputs."""

    layer: int
    queries: Float[Tensor, "batch head query d_head"]
    """Before rotation, for the chosen query positions only."""
    keys: Float[Tensor, "batch head key d_head"]
    """Before rotation, for every position."""
    rotation: Rotation
    scale: float
    """What multiplies the dot product: 1/sqrt(d_head) in our model (the paper's definition leaves it out)."""
    query_positions: Int[Tensor, "query"]
    """Where each query stands; keys stand at 0 .. key-1."""
    visible: Bool[Tensor, "query key"]
    """Which keys each query may see."""

    @property
    def key_positions(self) -> Int[Tensor, "key"]:
        """Where each key stands."""
        return torch.arange(self.keys.shape[-2], device=self.keys.device)

    def logits(self) -> Float[Tensor, "batch head query key"]:
        """The numbers that enter the softmax; minus infinity where a query may not look."""
        keys = self.rotation.turn(self.keys, self.key_positions)
        queries = self.rotation.turn(self.queries, self.query_positions)
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) * self.scale
        return scores.masked_fill(~self.visible, -torch.inf)

    def attention(self) -> Float[Tensor, "batch head query key"]:
        """Where each query looks: the softmax of :meth:`logits`."""
        return self.logits().softmax(-1)

    def content_by_position(self, query: int) -> Float[Tensor, "batch head content place"]:
        """The matrix M of one query (an index into ``query_positions``), for all contents and places."""
        return self.amplitudes(query) @ self.waves(query)

    def amplitudes(self, query: int) -> Float[Tensor, "batch head content wave"]:
        """How strongly each content rides on each wave: rows of this times columns of :meth:`waves` are entries of M.

        In plane k, turning the query q by an angle t changes its product with a key to
        ``(k1 q1 + k2 q2) cos t + (k2 q1 - k1 q2) sin t``: a cosine and a sine part. Coordinates that are not rotated
        give one constant wave.
        """
        turning, still = self.rotation.width, self.keys.shape[-1] - self.rotation.width
        asked = self.queries[:, :, query, None, :] * self.scale  # [batch, head, 1, d_head]
        k1, k2 = self.rotation.planes(self.keys).unbind(-1)  # [batch, head, content, plane]
        q1, q2 = self.rotation.planes(asked).unbind(-1)  # [batch, head, 1, plane]
        parts = [torch.addcmul(k1 * q1, k2, q2), torch.addcmul(k2 * q1, k1, q2, value=-1)]
        if still:
            parts.append((self.keys[..., turning:] * asked[..., turning:]).sum(-1, keepdim=True))
        return torch.cat(parts, -1)

    def waves(self, query: int) -> Float[Tensor, "wave place"]:
        """The cosine of each plane, then the sine, at the distance between one query and each place; then 1, if any."""
        away = (self.query_positions[query] - self.key_positions).to(torch.float64)  # [place]
        angle = self.rotation.frequencies.to(away.device)[:, None] * away  # [plane, place]
        rows = [angle.cos(), angle.sin()]
        if self.rotation.width < self.keys.shape[-1]:
            rows.append(torch.ones_like(away)[None])
        return torch.cat(rows).to(self.keys.dtype)

    def double(self, inputs: slice = slice(None)) -> LayerTrace:
        """The same layer in float64, for all inputs or some of them."""
        return replace(self, queries=self.queries[inputs].double(), keys=self.keys[inputs].double())


@dataclass(frozen=True, eq=False)
class Trace:
    """The traces of some layers of one model on one batch of inputs."""

    layers: tuple[LayerTrace, ...]
    residuals: Float[Tensor, "depth batch seq d_model"] | None = None
    """On request: the residual stream before the first layer and after each layer, whether traced or not."""

    def attention(self) -> Float[Tensor, "layer batch head query key"]:
        """Where each traced layer's queries look."""
        return torch.stack([layer.attention() for layer in self.layers])


@runtime_checkable
class Traceable(Protocol):
    """A model that can tell what its attention layers did."""

    def trace(
        self,
        tokens: Tokens,
        *,
        layers: Sequence[int] | None = None,
        queries: Sequence[int] | None = None,
        residuals: bool = False,
    ) -> Trace:
        """See :func:`trace`."""
        ...


def trace(
    model: object,
    tokens: Tokens,
    *,
    layers: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    residuals: bool = False,
) -> Trace:
    """Runs a model on some inputs and returns what its attention layers did.

    Args:
        model: one of ours, trained or hand-built: anything :class:`Traceable`.
        tokens: ids ``[batch, seq]``.
        layers: which layers, from 0; all by default.
        queries: which query positions, from 0 (negative: from the end); only the last by default.
        residuals: keep the residual stream too.

    Raises:
        WhatwhereError: the model has no trace, or a layer or position does not exist.
    """
    if not isinstance(model, Traceable):
        raise WhatwhereError(
            f"a whatwhere model was expected (see whatwhere.load), and a {type(model).__name__} arrived."
        )
    return model.trace(tokens, layers=layers, queries=queries, residuals=residuals)
