"""From hard attention to softmax: the lemma before Theorem 1, and why softmax disperses on long inputs (Section 3.5).

The lemma says that some inverse temperature serves all inputs up to a length. Its proof gives one. Let lambda be the
smallest positive gap between the largest logit of an input and the next, delta the smallest gap of an output under hard
attention, and r how far apart two tokens' contributions to an output can be. Softmax leaves a weight of at most
``(n - k) / k * exp(-beta gap)`` off the k keys with the largest logit, so it decodes as hard attention does once

    beta > ln(2 r (n - 1) / delta) / lambda.

Dispersion is the other side. If logits differ by at most D, one key of n gets at most ``1 / (1 + (n - 1) exp(-D))``,
which tends to 0: at any fixed temperature attention to the wanted key falls as inputs grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from whatwhere.theory.check import Check
from whatwhere.theory.construction import Construction
from whatwhere.theory.feasibility import (
    INDEX_ANGLES,
    LETTERS,
    NUMBERS,
    RETRIEVAL_ANGLES,
    sharp_index_head,
    sharp_retrieval_head,
)
from whatwhere.theory.sequences import all_sequences

TOKENS, LONGEST_SMALL = 3, 4
ROUNDING = 1e-12
LENGTHS = (17, 25, 50, 100, 200, 400, 850)
"""From the training length to the longest input of the paper, far enough apart that each has other near rivals."""
PLACES_BACK = 8
"""Where the wanted key stands: as far as the worst integer points at 17 tokens."""


class _Head(NamedTuple):
    """A head over few tokens, all of it random."""

    logits: Float[np.ndarray, "length query key place"]
    direct: Float[np.ndarray, "token output"]
    """What the query's own token adds to each output."""
    copied: Float[np.ndarray, "token output"]
    """What full attention to a token adds."""


def lemma_holds(heads: int = 100) -> Check:
    """The lemma on random heads and all inputs of up to 4 of 3 tokens, at the inverse temperature of its proof.

    Logits of every other head do not depend on the place, so that equal tokens tie, as the lemma allows.
    """
    wrong = cases = blunt = 0
    for seed in range(heads):
        head = _random_head(seed, places=seed % 2 == 0)
        inputs = [all_sequences(TOKENS, n) for n in range(2, LONGEST_SMALL + 1)]
        found = [_hard(head, tokens) for tokens in inputs]
        delta = min(float(np.diff(np.sort(outputs, -1)[:, -2:], axis=-1).min()) for _, _, outputs in found)
        gap = min(float(gaps.min()) for _, gaps, _ in found)
        spread = float(np.ptp(head.copied, axis=0).max())
        beta = np.log(2 * spread * (LONGEST_SMALL - 1) / delta) / gap
        for tokens, (best, gaps, outputs) in zip(inputs, found, strict=True):
            weights, decoded = _softmax(head, tokens, beta)
            k = best.sum(-1)
            bound = (tokens.shape[1] - k) / k * np.exp(-beta * np.where(np.isinf(gaps), 0, gaps))
            off = np.where(best, 0, weights).sum(-1)
            wrong += int(((decoded != outputs.argmax(-1)) | (off > bound + ROUNDING)).sum())
            blunt += int((_softmax(head, tokens, beta / 20)[1] != outputs.argmax(-1)).sum())
            cases += len(tokens)
    claim = "the lemma: at the inverse temperature of its proof softmax decodes what hard attention does"
    return Check(claim, cases, wrong, f"at a twentieth of it {blunt:,} of {cases:,} inputs differ")


def softmax_disperses() -> Check:
    """Attention to the wanted key falls with every length, below the bound for bounded logits, at fixed temperature."""
    heads = [(sharp_index_head(theta), "a", str(PLACES_BACK), "a") for theta in INDEX_ANGLES]
    heads += [(sharp_retrieval_head(theta), "b1", "ca", "a1") for theta in RETRIEVAL_ANGLES]
    wrong, found = 0, []
    for head, *tokens in heads:
        weights = [wanted_weight(head, n, *tokens) for n in LENGTHS]
        limits = [1 / (1 + (n - 1) * np.exp(-2 * head.beta)) for n in LENGTHS]
        falls = np.diff(weights, prepend=np.inf) < 0
        wrong += int((~falls | (np.array(weights) > np.array(limits))).sum())
        if head.theta in (INDEX_ANGLES[-1], RETRIEVAL_ANGLES[0]):
            name = "T_Index" if tokens[0] == "a" else "T_Retrieval"
            found.append(
                f"{name} at angle {head.theta:g}: {weights[0]:.2f} at {LENGTHS[0]} tokens, {weights[-1]:.2f} at 850"
            )
    claim = "softmax with bounded logits disperses: attention to the wanted key falls with every length"
    return Check(claim, len(heads) * len(LENGTHS), wrong, "; ".join(found))


def wanted_weight(head: Construction, n: int, filler: str, query: str, wanted: str) -> float:
    """Attention to the wanted key, PLACES_BACK before the query, on an input of n tokens filled with another token."""
    vocabulary = NUMBERS if query.isdigit() else LETTERS
    words = [filler] * (n - 1) + [query]
    words[-1 - PLACES_BACK] = wanted
    return float(head.trace(vocabulary.encode(words)[None]).attention()[0, 0, 0, 0, n - 1 - PLACES_BACK])


def _random_head(seed: int, *, places: bool) -> _Head:
    random = np.random.default_rng(seed)
    sizes = (LONGEST_SMALL + 1, TOKENS, TOKENS, LONGEST_SMALL) if places else (1, TOKENS, TOKENS, 1)
    logits = np.broadcast_to(random.normal(size=sizes), (LONGEST_SMALL + 1, TOKENS, TOKENS, LONGEST_SMALL))
    return _Head(logits, *random.normal(size=(2, TOKENS, TOKENS)))


def _logits(head: _Head, tokens: Int[np.ndarray, "input n"]) -> Float[np.ndarray, "input n"]:
    n = tokens.shape[1]
    return head.logits[n, tokens[:, -1:], tokens, np.arange(n)]


def _hard(
    head: _Head, tokens: Int[np.ndarray, "input n"]
) -> tuple[Bool[np.ndarray, "input n"], Float[np.ndarray, "input"], Float[np.ndarray, "input output"]]:
    """The keys with the largest logit, the gap to the next (infinite if all tie), and the outputs of hard attention."""
    logits = _logits(head, tokens)
    top = logits.max(-1, keepdims=True)
    best = logits == top
    gaps = top[:, 0] - np.where(best, -np.inf, logits).max(-1)
    weights = best / best.sum(-1, keepdims=True)
    return best, gaps, head.direct[tokens[:, -1]] + np.einsum("bn,bno->bo", weights, head.copied[tokens])


def _softmax(
    head: _Head, tokens: Int[np.ndarray, "input n"], beta: float
) -> tuple[Float[np.ndarray, "input n"], Int[np.ndarray, "input"]]:
    """Weights and decoded outputs of softmax attention."""
    weights = softmax(beta * _logits(head, tokens), -1)
    outputs = head.direct[tokens[:, -1]] + np.einsum("bn,bno->bo", weights, head.copied[tokens])
    return weights, outputs.argmax(-1)
