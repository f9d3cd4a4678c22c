"""The remark after Theorem 1: how positional and how symbolic the constructed heads are, and what purity rules out."""

from __future__ import annotations

from dataclasses import replace

import torch

from whatwhere.heads.scores import score
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import retrieval
from whatwhere.theory.check import Check
from whatwhere.theory.construction import Construction
from whatwhere.theory.directions import UP
from whatwhere.theory.feasibility import LENGTH, LETTERS, NUMBERS, sharp_index_head
from whatwhere.theory.impossibility import (
    positional_retrieval,
    positional_retrieval_counterexample,
    symbolic_index_counterexample,
)
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import random_left_unique

SCORED_ANGLES = (0.0, 0.0027, 0.0115, 0.0866)
"""Angles at which T_Retrieval is scored: none, and those of the letter model's layers 2, 1 and 0."""
SCORED_BETA = 10.5
INPUTS = 200


def retrieval_scores(tau: float = 1.0) -> dict[float, tuple[float, float]]:
    """(s_pos, s_sym) of T_Retrieval by angle (erratum E11: symbolic exactly only at angle 0).

    On left-unique inputs of 4 hops; inputs with more shared left letters give lower symbolic scores.
    """
    tokens = LetterTask(generator="strict").sample(INPUTS, hops=4, seed=0).tokens
    scores = {theta: score(retrieval_head(theta, SCORED_BETA).trace(tokens), tau) for theta in SCORED_ANGLES}
    return {theta: (float(s.positional[0, 0]), float(s.symbolic[0, 0])) for theta, s in scores.items()}


def index_head_is_positional() -> Check:
    """All keys of T_Index are one vector, so its positional score is 1 at any temperature."""
    tokens = NumberTask().sample(INPUTS, seed=0).tokens
    scores = score(sharp_index_head(1.0).trace(tokens))
    wrong = int((scores.each_positional < 1 - 1e-12).sum())
    found = f"s_pos {float(scores.positional[0, 0]):.4f}, s_sym {float(scores.symbolic[0, 0]):.4f} at tau {scores.tau}"
    return Check("T_Index is purely positional on every input", INPUTS, wrong, found)


def retrieval_head_is_symbolic_without_rotation() -> Check:
    """At angle 0 logits depend on contents alone; with RoPE they do not (E11)."""
    tokens = LetterTask().sample(INPUTS, seed=0).tokens
    wrong = int((score(retrieval_head(0.0, SCORED_BETA).trace(tokens)).each_symbolic < 1 - 1e-12).sum())
    table = ", ".join(f"{symbolic:.4f} at {theta}" for theta, (_, symbolic) in retrieval_scores().items())
    return Check("T_Retrieval is purely symbolic at angle 0", INPUTS, wrong, f"s_sym {table} (tau 1; E11)")


def symbolic_head_cannot_index(heads: int = 50) -> Check:
    """The remark's first half, tried on heads with random weights."""
    head = sharp_index_head(1.0)
    tried = [seeking(head, "o"), *(_random_weights(head, seed) for seed in range(heads - 1))]
    examples = [symbolic_index_counterexample(one) for one in tried]
    right_on_both = sum(example.wrong == 0 for example in examples)
    claim = "no symbolic head computes Index: each is wrong on one of a pair of inputs"
    return Check(claim, len(examples), right_on_both, examples[0].show(NUMBERS))


def positional_copier_cannot_retrieve() -> Check:
    """The remark's second half, for heads that copy what they attend to."""
    examples = [positional_retrieval_counterexample(theta, beta) for theta in (0.1, 0.866, 1.0) for beta in (1.0, 20.0)]
    right_on_both = sum(example.wrong == 0 for example in examples)
    claim = "no positional head that copies computes Retrieval: each is wrong on one of a pair"
    return Check(claim, len(examples), right_on_both, examples[0].show(LETTERS))


def positional_head_can_retrieve(count: int = 1_000) -> Check:
    """Erratum E28: without "that copies" the second half of the remark is false."""
    tokens = random_left_unique(count, LENGTH, LETTERS, seed=2)
    head = positional_retrieval(1.0, 1.0)
    wrong = int(head.errors(tokens, retrieval(tokens, LETTERS)).any(1).sum())
    scores = score(head.trace(tokens[:INPUTS]))
    found = f"s_pos {float(scores.positional[0, 0]):.3f}, s_sym {float(scores.symbolic[0, 0]):.3f} (E28)"
    return Check("a positional head that also reads its own query computes Retrieval", count, wrong, found)


def seeking(head: Construction, name: str) -> Construction:
    """The same head with attention that seeks one token of the number task, at any position."""
    key, query = torch.zeros_like(head.key), torch.zeros_like(head.query)
    key[:, NUMBERS.encode(name)] = UP[:, None]
    query[:, -1] = UP  # the bias: whatever the query holds
    return replace(head, key=key, query=query)


def _random_weights(head: Construction, seed: int) -> Construction:
    """The same sizes, with every weight of attention and output drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    weights = {name: getattr(head, name) for name in ("query", "key", "value", "unembedding")}
    return replace(
        head, **{name: torch.randn(w.shape, generator=generator, dtype=w.dtype) for name, w in weights.items()}
    )
