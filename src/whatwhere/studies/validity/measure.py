"""Scores of heads whose nature is known, and labels of heads that have none."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from whatwhere.heads.entropy import entropy_of
from whatwhere.heads.estimate import mean, share
from whatwhere.heads.purity import GAMMAS, KINDS, label_of
from whatwhere.heads.weighting import TAUS
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.studies.validity import known_heads as known
from whatwhere.studies.validity import tables
from whatwhere.studies.validity.permutations import LISTED, permutation_scores, swap_scores
from whatwhere.studies.validity.tables import KnownScore, NullLabel, PermutationScore, Span, ValiditySettings
from whatwhere.theory.printed import LENGTH

INITIAL = 0.02
"""Standard deviation of the weights of an untrained model (GPT-J's)."""
SHORT = 7
"""Tokens of the inputs whose permutations are all listed: 720."""
PERMUTED_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
PERMUTED_INPUTS = 8


@torch.no_grad()
def measure(subject: None, settings: ValiditySettings, results: Results, progress: Progress) -> None:
    """Writes the tables that are missing."""
    del subject
    if not results.has("scores"):
        progress("heads of known nature", 0, 2)
        _measure_scores(settings, results)
    if not results.has("permutations"):
        progress("all permutations", 1, 2)
        results.write("permutations", [row for n in (SHORT, LENGTH) for row in permutation_rows(n, settings)])
    progress("scores validated", 2, 2)


def _measure_scores(settings: ValiditySettings, results: Results) -> None:
    scores: list[KnownScore] = []
    labels: list[NullLabel] = []
    for family, content, matrices in heads_of_known_nature(settings):
        each = swap_scores(matrices.flatten(0, 1), TAUS).unflatten(-1, matrices.shape[:2]).numpy()
        logits = matrices.diagonal(dim1=-2, dim2=-1)
        entropy = float(entropy_of(logits.log_softmax(-1)).mean()) / math.log(LENGTH)
        for tau, pair in zip(TAUS, each, strict=True):
            scores.append(_score_row(family, content, entropy, tau, pair.mean(-1)))
            if math.isnan(content) and family != tables.FLAT:
                labels += _label_rows(family, entropy, tau, pair)
    results.write("labels", labels)
    results.write("scores", scores)  # last: it tells that both are there


def heads_of_known_nature(settings: ValiditySettings) -> Iterator[tuple[str, float, known.Matrices]]:
    """Family, share of content and matrices of every kind of head."""
    size = settings.heads // 4, settings.inputs, LENGTH
    for family, make in ((tables.ADDITIVE, known.additive), (tables.ROTARY, known.rotary)):
        for content in tables.SHARES:
            plain = make(content, *size, settings.seed)
            yield from ((family, content, known.sharpened(plain, entropy)) for entropy in tables.ENTROPIES)
    for content in (0.0, 1.0):
        yield tables.ONE_HOT, content, known.one_hot(content, *size, settings.seed)
    yield tables.FLAT, math.nan, known.flat(*size)
    size = settings.heads, settings.inputs, LENGTH
    weights = known.random_weights(*size, settings.seed)
    yield tables.UNTRAINED, math.nan, weights * INITIAL**2
    for family, plain in zip(tables.NULLS, (known.random_logits(*size, settings.seed), weights), strict=True):
        yield from ((family, math.nan, known.sharpened(plain, entropy)) for entropy in tables.ENTROPIES)


def _score_row(family: str, content: float, entropy: float, tau: float, by_head: np.ndarray) -> KnownScore:
    positional, symbolic = (mean(values) for values in by_head)
    one, other = (Span(*map(float, np.quantile(values, (0.025, 0.975)))) for values in by_head)
    centred = 1 - symbolic.value, 1 - positional.value
    return KnownScore(family, content, entropy, tau, positional, symbolic, one, other, *centred)


def _label_rows(family: str, entropy: float, tau: float, pair: np.ndarray) -> Iterator[NullLabel]:
    """Labels from the mean over more and more inputs, four times as many each time."""
    heads, inputs = pair.shape[1:]
    sizes = [4**k for k in range(10) if 4**k < inputs]
    for some in (*sizes, inputs):
        means = pair[..., :some].mean(-1)  # [2, head]
        for gamma in GAMMAS:
            found = [label_of(float(pos), float(sym), gamma) for pos, sym in means.T]
            positional, symbolic = (share(found.count(kind), heads) for kind in KINDS)
            yield NullLabel(family, entropy, tau, gamma, some, positional, symbolic)


def permutation_rows(length: int, settings: ValiditySettings) -> list[PermutationScore]:
    """Additive heads at some shares, by swaps and by permutations; all heads of a length go in one batch."""
    heads, inputs = settings.heads // 4, min(PERMUTED_INPUTS, settings.inputs)
    cases = [(content, entropy) for content in PERMUTED_SHARES for entropy in tables.ENTROPIES]
    made = (known.sharpened(known.additive(s, heads, inputs, length, settings.seed), e) for s, e in cases)
    matrices = torch.stack(list(made)).flatten(0, 2)  # [case x head x input, n, n]
    sizes = len(TAUS), 2, len(cases), heads, inputs
    swaps = swap_scores(matrices, TAUS).reshape(sizes)
    found = [permutation_scores(matrices, tau, settings.seed) for tau in TAUS]
    permuted = torch.stack([one.scores for one in found]).reshape(sizes)
    squares = torch.stack([one.variance for one in found]).reshape(sizes).mean((-1, -2)) / (heads * inputs)
    rows = []
    for at, tau in enumerate(TAUS):
        for which, kind in enumerate(KINDS):
            for case, (content, entropy) in enumerate(cases):
                one, other = (x[at, which, case].mean(-1).numpy() for x in (swaps, permuted))  # by head
                rows.append(
                    PermutationScore(
                        length, length - 1 <= LISTED, content, entropy, tau, kind, float(one.mean()),
                        float(other.mean()), mean(other - one), math.sqrt(float(squares[at, which, case])),
                    )
                )  # fmt: skip
    return rows
