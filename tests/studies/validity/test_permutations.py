"""Scores by swaps and by all permutations against the definition done literally."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import TAUS, band
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.studies.validity import permutations
from whatwhere.studies.validity.permutations import moved_mass, permutation_scores, swap_scores
from whatwhere.trace.layer import LayerTrace, Trace


def random_matrices(rows: int, n: int, size: float = 2.0) -> torch.Tensor:
    return torch.randn(rows, n, n, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * size


def literal(matrix: np.ndarray, orders: list[tuple[int, ...]], tau: float) -> tuple[float, float]:
    """Permute contents, take the softmax of all logits again, compare the moved places, weigh."""
    n = len(matrix)
    before = np.exp(np.diag(matrix)) / np.exp(np.diag(matrix)).sum()
    masses, pairs = [], []
    for order in orders:
        contents = [*order, n - 1]
        logits = matrix[contents, range(n)]
        after = np.exp(logits) / np.exp(logits).sum()
        moved = [j for j in range(n) if contents[j] != j]
        new, old, content = after[moved], before[moved], before[[contents[j] for j in moved]]
        pairs.append([new @ other / np.linalg.norm(new) / np.linalg.norm(other) for other in (old, content)])
        masses.append(abs(before[contents] - before).sum() / 2)
    weights = np.exp((np.array(masses) - max(masses)) / tau)
    positional, symbolic = weights @ np.array(pairs) / weights.sum()
    return positional, symbolic


@pytest.mark.parametrize("tau", TAUS)
def test_listed_permutations_are_what_the_definition_says(tau: float) -> None:
    matrices = random_matrices(3, 5)
    everything = list(itertools.permutations(range(4)))[1:]
    found = permutation_scores(matrices, tau)
    for row, matrix in enumerate(matrices.numpy()):
        assert found.scores[:, row].tolist() == pytest.approx(literal(matrix, everything, tau), abs=1e-12)
    assert float(found.variance.abs().max()) == 0


@pytest.mark.parametrize("tau", TAUS)
def test_with_swaps_alone_it_is_the_papers_score(tau: float) -> None:
    matrices = random_matrices(3, 6)
    swaps = [order for order in itertools.permutations(range(5)) if sum(i != j for i, j in enumerate(order)) == 2]
    assert len(swaps) == 10
    found = swap_scores(matrices, [tau])[0]
    for row, matrix in enumerate(matrices.numpy()):
        assert found[:, row].tolist() == pytest.approx(literal(matrix, swaps, tau), abs=1e-12)


def test_scores_of_the_matrix_are_those_of_the_trace() -> None:
    random = torch.Generator().manual_seed(0)
    keys = torch.randn(4, 2, 17, 8, generator=random, dtype=torch.float64)
    queries = torch.randn(4, 2, 1, 8, generator=random, dtype=torch.float64)
    seen = torch.ones(1, 17, dtype=torch.bool)
    layer = LayerTrace(0, queries, keys, Rotation(rope_frequencies(8, 10_000.0)), 1.0, torch.tensor([16]), seen)
    found = swap_scores(layer.content_by_position(0).flatten(0, 1), TAUS)
    for ours, theirs in zip(found, score_weightings(Trace((layer,)), band()), strict=True):
        assert torch.allclose(ours[0], theirs.each_positional.flatten(), atol=1e-9)
        assert torch.allclose(ours[1], theirs.each_symbolic.flatten(), atol=1e-9)


def test_the_chain_is_metropolis_with_the_moved_mass_computed_anew_at_each_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(permutations, "BURN_IN", 0)
    monkeypatch.setattr(permutations, "SAMPLES", 60)
    monkeypatch.setattr(permutations, "THINNING", 1)
    rows, keys, tau, seed = 50, 3, 0.05, 4  # three keys: chains come back to the identity's neighbours all the time
    mass = torch.rand(rows, keys, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    random = torch.Generator().manual_seed(seed)
    order = torch.rand(rows, keys, generator=random).argsort(-1)
    for found in permutations._chain(mass, tau, seed):  # pyright: ignore[reportPrivateUsage]
        i = torch.randint(keys, (rows,), generator=random)
        j = (i + torch.randint(1, keys, (rows,), generator=random)) % keys
        chance = torch.rand(rows, generator=random, dtype=torch.float64)
        proposed, each = order.clone(), torch.arange(rows)
        proposed[each, i], proposed[each, j] = order[each, j], order[each, i]
        accept = chance.log() < (moved_mass(mass, proposed) - moved_mass(mass, order)) / tau
        order = torch.where(accept[:, None], proposed, order)
        assert torch.equal(found, order)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1e-3, 0.1])
def test_drawn_permutations_agree_with_the_listed_ones(tau: float, monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = random_matrices(200, 6)
    listed = permutation_scores(matrices, tau).scores.mean(-1)
    monkeypatch.setattr(permutations, "LISTED", 0)
    drawn = permutation_scores(matrices, tau)
    error = (drawn.variance.mean(-1) / 200).sqrt()
    assert ((drawn.scores.mean(-1) - listed).abs() < 4 * error).all()
    assert (error < 0.01).all()


def test_the_mass_of_a_swap_is_the_papers_and_the_identity_has_none() -> None:
    mass = torch.tensor([0.5, 0.2, 0.1], dtype=torch.float64)
    orders = torch.tensor([[1, 0, 2], [0, 2, 1], [1, 2, 0], [0, 1, 2]])
    assert moved_mass(mass[None], orders).tolist() == pytest.approx([0.3, 0.1, 0.4, -math.inf])
