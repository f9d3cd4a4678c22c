"""An independent implementation of the two constructions, from the formulas for their logits only.

The tests compare :class:`~whatwhere.theory.construction.Construction` with it. Position ``n`` sees keys ``0 .. n``.
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
    is_letter = tokens < symbols  # [batch, seq]
    offset = np.where(is_letter, 0, tokens - symbols + 1)
    weights = _weights(np.cos((_distances(tokens) - offset[:, :, None]) * theta), beta, attention)
    one_hot = np.eye(symbols + integers)[tokens]  # [batch, seq, vocab]
    return one_hot + COPY * weights @ (one_hot * is_letter[:, :, None])


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
    left, right = np.divmod(tokens, letters + integers)  # [batch, seq] each
    sought = np.where(right < letters, right, left)
    angles = (left[:, None, :] - sought[:, :, None]) * (math.tau / letters) + _distances(tokens) * theta
    return _weights(np.cos(angles), beta, attention) @ np.eye(letters * (letters + integers))[tokens]


def _distances(tokens: Int[np.ndarray, "batch seq"]) -> Int[np.ndarray, "query key"]:
    place = np.arange(tokens.shape[1])
    return place[:, None] - place


def _weights(
    logits: Float[np.ndarray, "batch query key"], beta: float, attention: Attention
) -> Float[np.ndarray, "batch query key"]:
    logits = np.where(np.tri(logits.shape[-1], dtype=bool), logits, -np.inf)  # keys up to the query
    top = logits.max(-1, keepdims=True)
    weights = np.exp(beta * (logits - top)) if attention == "softmax" else (logits >= top - TIE).astype(float)
    return weights / weights.sum(-1, keepdims=True)
