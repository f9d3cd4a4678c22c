"""The two constructions once more, from the formulas for their logits alone: no matrices, no rotation, no trace.

Slow and plain on purpose. The tests hold :class:`~whatwhere.theory.construction.Construction` against it.
Positions count from 0, so that position ``n`` sees the keys ``0 .. n``.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int

from whatwhere.theory.construction import TIE, Attention
from whatwhere.theory.index_head import COPY


def index_oracle(
    tokens: Int[np.ndarray, "batch seq"],
    theta: float,
    beta: float,
    *,
    symbols: int = 120,
    integers: int = 16,
    attention: Attention = "softmax",
) -> Float[np.ndarray, "batch seq vocab"]:
    """The outputs of T_Index: logit(n, j) = cos((n - j - i) theta), with i = 0 for a letter."""
    batch, length = tokens.shape
    outputs = np.zeros((batch, length, symbols + integers))
    rows = np.arange(batch)
    offset = np.where(tokens < symbols, 0, tokens - symbols + 1)  # [batch, seq]
    for n in range(length):
        logits = np.stack([np.cos((n - j - offset[:, n]) * theta) for j in range(n + 1)], axis=1)  # [batch, key]
        weights = _weights(logits, beta, attention)
        outputs[rows, n, tokens[:, n]] += 1
        for j in range(n + 1):
            is_letter = tokens[:, j] < symbols
            outputs[rows, n, tokens[:, j]] += COPY * weights[:, j] * is_letter
    return outputs


def retrieval_oracle(
    tokens: Int[np.ndarray, "batch seq"],
    theta: float,
    beta: float,
    *,
    letters: int = 8,
    integers: int = 8,
    attention: Attention = "softmax",
) -> Float[np.ndarray, "batch seq vocab"]:
    """The outputs of T_Retrieval: logit(n, j) = cos((L_j - s_n) omega + (n - j) theta), with s_n the sought letter."""
    batch, length = tokens.shape
    right_parts = letters + integers
    outputs = np.zeros((batch, length, letters * right_parts))
    rows = np.arange(batch)
    left, right = np.divmod(tokens, right_parts)  # [batch, seq] each
    sought = np.where(right < letters, right, left)
    omega = math.tau / letters
    for n in range(length):
        angles = [(left[:, j] - sought[:, n]) * omega + (n - j) * theta for j in range(n + 1)]
        weights = _weights(np.cos(np.stack(angles, axis=1)), beta, attention)  # [batch, key]
        for j in range(n + 1):
            outputs[rows, n, tokens[:, j]] += weights[:, j]
    return outputs


def _weights(logits: np.ndarray, beta: float, attention: Attention) -> np.ndarray:
    top = logits.max(axis=1, keepdims=True)
    weights = np.exp(beta * (logits - top)) if attention == "softmax" else (logits >= top - TIE).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)
