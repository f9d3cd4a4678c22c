"""A summary per head: scores with their intervals, entropy, attention to the query itself, and a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.heads.estimate import RESAMPLES, Estimate, percentiles, resampled_ratio
from whatwhere.heads.head_scores import HeadScores
from whatwhere.heads.levels import score_model_weightings
from whatwhere.heads.purity import GAMMAS, label_of
from whatwhere.heads.weighting import TAU, Weighting
from whatwhere.trace.layer import Tokens
from whatwhere.trace.traceable import traceable


@dataclass(frozen=True)
class HeadSummary:
    """What is known about one head."""

    layer: int
    head: int
    label: str
    """``positional``, ``symbolic``, ``uniform`` or ``mixed``; see :func:`whatwhere.heads.purity.label_of`."""
    positional: Estimate
    symbolic: Estimate
    entropy: float
    """In nats."""
    entropy_share: float
    """Divided by its maximum."""
    own: float
    """Attention to the query's own position."""
    renormalised_positional: float
    renormalised_symbolic: float
    undefined: int


def summary_rows(
    scores: HeadScores, renormalised: HeadScores, *, gamma: float = GAMMAS[0], seed: int = 0
) -> list[HeadSummary]:
    """One line per head, layer by layer.

    ``scores`` are the paper's, ``renormalised`` those of the same heads without the query's own position.
    """
    means = (scores.entropy, scores.entropy_share, scores.own, renormalised.positional, renormalised.symbolic)
    facts = [each.tolist() for each in (*means, scores.undefined)]  # [layer][head] each
    return [
        HeadSummary(layer, head, label_of(positional.value, symbolic.value, gamma), positional, symbolic, *numbers)
        for layer, *heads in zip(scores.layers, *estimates(scores, seed), *facts, strict=True)
        for head, (positional, symbolic, *numbers) in enumerate(zip(*heads, strict=True))
    ]


def estimates(scores: HeadScores, seed: int = 0) -> tuple[list[list[Estimate]], list[list[Estimate]]]:
    """The positional and the symbolic score of every ``[layer][head]`` with its interval.

    Inputs are resampled, each with the queries that are read, because queries of one input are not independent. A
    single input gives its queries instead; they share their keys, so their intervals are too narrow.
    """
    return _estimates(scores, scores.each_positional, seed), _estimates(scores, scores.each_symbolic, seed)


def _estimates(scores: HeadScores, each: Float[Tensor, "layer batch head query"], seed: int) -> list[list[Estimate]]:
    read = scores.masked(each)
    if scores.inputs == 1:
        read = read.transpose(1, 3)  # queries for inputs
    layers, _, heads, _ = read.shape
    sums, counts = (
        x.sum(-1).transpose(0, 1).flatten(1).double().numpy(force=True) for x in (read.nan_to_num(0), ~read.isnan())
    )
    ends = percentiles(resampled_ratio(sums, counts, RESAMPLES, seed))  # each [layer * head]
    low, high = (end.reshape(layers, heads).tolist() for end in ends)
    n = counts.sum(0).astype(int).reshape(layers, heads).tolist()
    found = zip(scores.mean(each).tolist(), low, high, n, strict=True)
    return [[Estimate(*head) for head in zip(*layer, strict=True)] for layer in found]


@dataclass(frozen=True)
class WindowScores:
    """One head on the keys of one window of the input only."""

    layer: int
    head: int
    window: str
    positional: float
    symbolic: float
    attention: float
    """The share of the head's attention in the window; the scores of a window with little attention mean little."""


def score_windows(
    model: object, tokens: Tokens, windows: Mapping[str, Sequence[int]], tau: float = TAU
) -> list[WindowScores]:
    """Scores with swaps inside one window at a time, weighted by attention within it.

    A head that looks only at one kind of token follows its contents whenever tokens of two kinds are swapped, so the
    paper's score calls it half symbolic even if it counts positions among the tokens that it looks at.
    """
    weightings = [Weighting(tau, renormalised=True, among=tuple(places)) for places in windows.values()]
    found = score_model_weightings(model, tokens, weightings)
    with torch.no_grad():
        attention = traceable(model).stream(tokens, lambda layer: layer.attention()[:, :, 0].double().mean(0))
    rows = []
    for (name, places), scores in zip(windows.items(), found, strict=True):
        mass = torch.stack([layer[:, list(places)].sum(-1) for layer in attention])  # [layer, head]
        columns = [x.tolist() for x in (scores.positional, scores.symbolic, mass)]
        for layer, *heads in zip(scores.layers, *columns, strict=True):
            rows += [WindowScores(layer, head, name, *both) for head, both in enumerate(zip(*heads, strict=True))]
    return sorted(rows, key=lambda row: (row.layer, row.head))
