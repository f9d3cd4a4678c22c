"""A hand-built transformer of one layer and one rotary head, in float64 (Theorem 1).

    q = W_Q x,  k = W_K x,  logit(n, j) = beta * k_j . R^(n-j) q_n,  a_n = sum_j w_j W_V x_j,  out = U (residual x + a)

It has the same trace as a trained model, so every analysis of this package works on it. As there is no activation
function, each path from token to output is one matrix (a direct path U E and a copying path U W_V E), computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import Rotation
from whatwhere.theory.arguments import check_angle, check_beta
from whatwhere.trace.forward import AttentionCall, Inputs, Traceable, Visit
from whatwhere.trace.layer import LayerTrace, Tokens
from whatwhere.trace.own import plain_ids

Attention = Literal["softmax", "hard"]
TIE = 1e-12
"""Logits this close are one maximum to hard attention. Larger would merge the distances 0 and 710 at theta = 1 (their
cosines differ by 1.8e-9); much smaller would split exact ties by rounding."""
DECODING_TIE = 1e-9
"""An output that does not win by more than this has not been decoded."""
OUTPUTS = 150_000
"""Output logits per pass: 1.2 MB, which should fit in the cache."""


@dataclass(frozen=True, eq=False)
class Construction(Traceable):
    """The weights, named as in the paper; see :func:`index_head` and :func:`retrieval_head` for the two of Theorem 1.

    Args:
        theta: the one RoPE angle, radians per position. What too small and too large do depends on the head.
        beta: the inverse temperature that multiplies the logits. Too small, and attention spreads until a wrong token
            wins; too large does no harm in exact arithmetic (in float64 logits must stay below about 1e12, where
            rounding exceeds the margins).
        embedding: one row per token.
        query: W_Q.
        key: W_K.
        value: W_V.
        unembedding: U, one row per token.
        residual: whether the output keeps the token itself: F(x, a) = x + a, otherwise a.
    """

    theta: float
    beta: float
    embedding: Float[Tensor, "vocab d_model"]
    query: Float[Tensor, "2 d_model"]
    key: Float[Tensor, "2 d_model"]
    value: Float[Tensor, "d_model d_model"]
    unembedding: Float[Tensor, "vocab d_model"]
    residual: bool
    name = "hand-built head"
    depth = heads = 1

    def __repr__(self) -> str:
        return f"Construction(theta={self.theta:g}, beta={self.beta:g}, {len(self.embedding)} tokens)"

    def __post_init__(self) -> None:
        check_angle(self.theta)
        check_beta(self.beta)

    @cached_property
    def rotation(self) -> Rotation:
        """One plane."""
        return Rotation(torch.tensor([self.theta], dtype=torch.float64))

    @cached_property
    def direct(self) -> Float[Tensor, "vocab vocab"]:
        """Row t: what the token t at the query's own place adds to each output, without attention."""
        return self.embedding @ self.unembedding.T * float(self.residual)

    @cached_property
    def copied(self) -> Float[Tensor, "vocab vocab"]:
        """Row t: what full attention to the token t adds to each output."""
        return self.embedding @ self.value.T @ self.unembedding.T

    def inputs(self, tokens: Tokens | Mapping[str, Any]) -> Inputs:
        """See :class:`~whatwhere.trace.forward.Traceable`."""
        return Inputs.whole(self._ids(plain_ids(tokens, self.name)))

    def forward(self, inputs: Inputs, visit: Visit, layers: Collection[int]) -> Float[Tensor, "batch seq vocab"]:
        """See :class:`~whatwhere.trace.forward.Traceable`; what the head writes is in output logits."""
        ids = inputs.ids
        values = self.copied[ids][:, None]  # [batch, head, key, vocab]
        edit = visit(AttentionCall(0, partial(self._read, ids), lambda: values)) if 0 in layers else None
        weights = self._read(ids, torch.arange(ids.shape[1])).attention()
        written = (weights @ values).transpose(1, 2)  # [batch, seq, head, vocab]
        return self.direct[ids] + (written if edit is None else edit(written))[:, :, 0]

    def _read(self, ids: Int[Tensor, "batch seq"], places: Int[Tensor, "query"]) -> LayerTrace:
        return LayerTrace(
            layer=0,
            queries=(self.embedding @ self.query.T)[ids[:, places]][:, None],  # [batch, head, query, 2]
            keys=(self.embedding @ self.key.T)[ids][:, None],  # [batch, head, key, 2]
            rotation=self.rotation,
            scale=self.beta,
            query_positions=places,
            visible=torch.arange(ids.shape[1]) <= places[:, None],
        )

    def outputs(self, tokens: Tokens, attention: Attention = "softmax") -> Float[Tensor, "batch seq vocab"]:
        """The output logits at every position; ``hard`` is average hard attention, see :func:`hard_attention`."""
        ids = self._ids(tokens)
        layer = self._read(ids, torch.arange(ids.shape[1]))
        weights = layer.attention() if attention == "softmax" else hard_attention(layer)
        return torch.baddbmm(self.direct[ids], weights[:, 0], self.copied[ids])

    def apply(self, tokens: Tokens, times: int = 1, attention: Attention = "softmax") -> Int[np.ndarray, "batch seq"]:
        """Applies the head ``times`` times: the most likely output at every position is the next input."""
        current = self._ids(tokens)
        for _ in range(times):
            current = torch.cat([self.outputs(chunk, attention).argmax(-1) for chunk in self._passes(current)])
        return current.numpy()

    def margins(
        self, tokens: Tokens, wanted: Tokens, attention: Attention = "softmax"
    ) -> Float[np.ndarray, "batch seq"]:
        """The decoding gap of the lemma: output of the wanted token minus the largest other, at every position."""
        pairs = zip(self._passes(self._ids(tokens)), self._passes(self._ids(wanted)), strict=True)
        found = []
        for ids, right in pairs:
            outputs, right = self.outputs(ids, attention), right[..., None]  # [batch, seq, vocab], [batch, seq, 1]
            found.append(outputs.gather(-1, right)[..., 0] - outputs.scatter(-1, right, -torch.inf).amax(-1))
        return torch.cat(found).numpy()

    def errors(self, tokens: Tokens, wanted: Tokens, attention: Attention = "softmax") -> np.ndarray:
        """Where the wanted token does not win, ``[batch, seq]``; a tie is an error."""
        return self.margins(tokens, wanted, attention) <= DECODING_TIE

    def _passes(self, ids: Int[Tensor, "batch seq"]) -> tuple[Int[Tensor, "part seq"], ...]:
        return ids.split(max(OUTPUTS // (ids.shape[1] * len(self.unembedding)), 1))

    def _ids(self, tokens: Tokens) -> Int[Tensor, "batch seq"]:
        ids = torch.as_tensor(tokens).long()
        vocabulary = len(self.embedding)
        if ids.ndim != 2 or ids.numel() == 0 or ids.min() < 0 or ids.max() >= vocabulary:
            raise WhatwhereError(
                f"expected token ids [batch, seq] from 0 to {vocabulary - 1}, got an array of shape {tuple(ids.shape)}"
                + (f" with ids from {int(ids.min())} to {int(ids.max())}." if ids.numel() else ".")
            )
        return ids


def hard_attention(layer: LayerTrace) -> Float[Tensor, "batch head query key"]:
    """Average hard attention: the same weight on every key whose logit is the largest, none elsewhere."""
    logits = layer.logits()
    best = (logits >= logits.amax(-1, keepdim=True) - TIE * layer.scale).double()
    return best / best.sum(-1, keepdim=True)
