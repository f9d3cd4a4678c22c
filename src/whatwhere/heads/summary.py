"""One line per head, for people: scores with their intervals, entropy, attention to itself, and a name for it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from whatwhere.heads.intervals import bootstrap_interval
from whatwhere.heads.levels import score_model
from whatwhere.heads.purity import GAMMAS, check_gamma
from whatwhere.heads.scores import TAU, HeadScores
from whatwhere.trace.layer import Tokens, Traceable, trace

SELF_ATTENDING = 0.5
"""A head that pays its own position more than this attends to itself."""


@dataclass(frozen=True)
class HeadSummary:
    """What is known about one head."""

    layer: int
    head: int
    label: str
    """``positional``, ``symbolic``, ``uniform`` or ``mixed``; see :func:`label_of`."""
    self_attending: bool
    """Then the scores speak of keys that it hardly looks at; the renormalised ones weigh these among themselves."""
    positional: float
    positional_low: float
    positional_high: float
    symbolic: float
    symbolic_low: float
    symbolic_high: float
    entropy: float
    """In nats."""
    entropy_share: float
    """Divided by its maximum."""
    own: float
    """Attention to the query's own position."""
    renormalised_positional: float
    renormalised_symbolic: float
    undefined: int


def label_of(positional: float, symbolic: float, gamma: float = GAMMAS[0]) -> str:
    """A name for a pair of scores.

    ``positional`` and ``symbolic`` are the paper's pure heads at tolerance gamma. ``uniform`` has both scores high: the
    keys that it looks at get equal shares. ``mixed`` is everything else, and ``undefined`` has no score.
    """
    check_gamma(gamma)
    if np.isnan(positional) or np.isnan(symbolic):
        return "undefined"
    if min(positional, symbolic) >= 1 - gamma:
        return "uniform"
    if positional >= 1 - gamma and symbolic <= gamma:
        return "positional"
    if symbolic >= 1 - gamma and positional <= gamma:
        return "symbolic"
    return "mixed"


def summarise(
    model: Traceable,
    tokens: Tokens,
    tau: float = TAU,
    *,
    level: str = "keys",
    gamma: float = GAMMAS[0],
    seed: int = 0,
) -> list[HeadSummary]:
    """Scores every head of a model on some inputs.

    Args:
        model: anything with a trace.
        tokens: ids ``[batch, seq]``.
        tau: temperature of the weights.
        level: what is swapped.
        gamma: tolerance of the labels.
        seed: of the intervals' resampling.
    """
    scores = score_model(model, tokens, tau, level=level)
    again = score_model(model, tokens, tau, level=level, renormalised=True)
    return summary_rows(scores, again, gamma=gamma, seed=seed)


def summary_rows(
    scores: HeadScores, renormalised: HeadScores, *, gamma: float = GAMMAS[0], seed: int = 0
) -> list[HeadSummary]:
    """One line per head, layer by layer.

    Args:
        scores: the paper's.
        renormalised: those of the same heads without the query's own position.
        gamma: tolerance of the labels.
        seed: of the intervals' resampling; they are over inputs, or over queries if there is one input only.
    """
    check_gamma(gamma)
    positional = bootstrap_interval(_by_draw(scores.each_positional), seed=seed)
    symbolic = bootstrap_interval(_by_draw(scores.each_symbolic), seed=seed)
    rows = []
    for index, layer in enumerate(scores.layers):
        for head in range(scores.positional.shape[1]):
            at = index, head
            own = float(scores.own[at])
            rows.append(
                HeadSummary(
                    layer=layer,
                    head=head,
                    label=label_of(float(scores.positional[at]), float(scores.symbolic[at]), gamma),
                    self_attending=own > SELF_ATTENDING,
                    positional=float(scores.positional[at]),
                    positional_low=float(positional[0][at]),
                    positional_high=float(positional[1][at]),
                    symbolic=float(scores.symbolic[at]),
                    symbolic_low=float(symbolic[0][at]),
                    symbolic_high=float(symbolic[1][at]),
                    entropy=float(scores.entropy[at]),
                    entropy_share=float(scores.entropy_share[at]),
                    own=own,
                    renormalised_positional=float(renormalised.positional[at]),
                    renormalised_symbolic=float(renormalised.symbolic[at]),
                    undefined=int(scores.undefined[at]),
                )
            )
    return rows


def tau_sensitivity(
    model: Traceable, tokens: Tokens, taus: Sequence[float], *, level: str = "keys"
) -> list[HeadScores]:
    """The scores at several temperatures, since the paper does not give its own (erratum E15)."""
    return [score_model(model, tokens, tau, level=level) for tau in taus]


@dataclass(frozen=True)
class WindowScores:
    """One head on the keys of one window of the input alone."""

    layer: int
    head: int
    window: str
    positional: float
    symbolic: float
    attention: float
    """How much of the head's attention the window gets; scores of a window that gets none say little."""


def score_windows(
    model: Traceable, tokens: Tokens, windows: Mapping[str, Sequence[int]], tau: float = TAU
) -> list[WindowScores]:
    """Scores with swaps inside one window at a time, weighed by attention within it.

    A head that looks only at one kind of token follows its contents whenever tokens of two kinds change places, so the
    paper's score calls it half symbolic even if it counts positions among the tokens that it looks at.

    Args:
        model: anything with a trace.
        tokens: ids ``[batch, seq]``.
        windows: names and positions.
        tau: temperature of the weights.
    """
    with torch.no_grad():
        attention = trace(model, tokens).attention()[:, :, :, 0].mean(1)  # [layer, head, key]
    rows = []
    for name, places in windows.items():
        scores = score_model(model, tokens, tau, renormalised=True, among=places)
        mass = attention[..., list(places)].sum(-1)
        for index, layer in enumerate(scores.layers):
            for head in range(scores.positional.shape[1]):
                both = float(scores.positional[index, head]), float(scores.symbolic[index, head])
                rows.append(WindowScores(layer, head, name, *both, float(mass[index, head])))
    return sorted(rows, key=lambda row: (row.layer, row.head))


def _by_draw(each: torch.Tensor) -> np.ndarray:
    """``[layer, batch, head, query]`` -> ``[draw, layer, head]``: the mean over queries of each input, inputs first.

    A single input gives its queries instead; they share their keys, so intervals over them are too narrow.
    """
    if each.shape[1] == 1:
        return each[:, 0].movedim(-1, 0).numpy(force=True)
    return each.nanmean(-1).transpose(0, 1).numpy(force=True)
