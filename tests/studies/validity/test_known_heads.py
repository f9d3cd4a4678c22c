"""Heads are what their names say."""

from __future__ import annotations

import math

import pytest
import torch

from whatwhere.heads.entropy import entropy_of
from whatwhere.heads.weighting import TAUS
from whatwhere.studies.validity import known_heads as known
from whatwhere.studies.validity.permutations import swap_scores


def test_an_additive_head_has_its_share_of_variance_from_content() -> None:
    matrices = known.additive(0.25, 300, 20, 17, seed=0)
    by_place = matrices.mean(-2)  # [head, input, place]: contents averaged out, up to their mean
    where = by_place.var(-1).mean()
    what = matrices.mean(-1).var(-1).mean()
    assert float(what / (what + where)) == pytest.approx(0.25, abs=0.03)
    additive = matrices - by_place[:, :, None] - matrices.mean(-1, keepdim=True) + matrices.mean((-1, -2), keepdim=True)
    assert float(additive.abs().max()) < 1e-12


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_rotary_head_has_its_share_of_planes_for_content(share: float) -> None:
    matrices = known.rotary(share, 200, 20, 17, seed=0)
    by_place, by_content = matrices.mean(-2).var(-1).mean(), matrices.mean(-1).var(-1).mean()
    assert float(by_content / (by_content + by_place)) == pytest.approx(share, abs=0.06)
    if share == 0:
        assert torch.allclose(matrices, matrices[:, :, :1])  # contents do not matter
    if share == 1:
        assert float((matrices - matrices[..., :1]).abs().max()) < 0.05  # places hardly do


@pytest.mark.parametrize("entropy", [0.9, 0.1])
def test_heads_are_sharpened_to_the_entropy_that_is_asked_for(entropy: float) -> None:
    matrices = known.sharpened(known.random_logits(8, 8, 17, seed=0), entropy)
    found = entropy_of(matrices.diagonal(dim1=-2, dim2=-1).log_softmax(-1)).mean()
    assert float(found) / math.log(17) == pytest.approx(entropy, abs=1e-4)


def test_a_one_hot_head_looks_at_one_place_or_at_one_content() -> None:
    for share, still in ((0.0, -2), (1.0, -1)):
        matrices = known.one_hot(share, 4, 4, 17, seed=0)
        assert float(matrices.diagonal(dim1=-2, dim2=-1).softmax(-1).amax(-1).min()) > 1 - 1e-12
        assert float((matrices - matrices.mean(still, keepdim=True)).abs().max()) == 0
        assert float(matrices[..., -1, -1].max()) == 0  # never at the query


def test_random_weights_are_those_of_a_rotary_head_of_the_papers_size() -> None:
    matrices = known.random_weights(4, 50, 17, seed=0)
    assert matrices.shape == (4, 50, 17, 17)
    assert float(matrices.std()) == pytest.approx(128, rel=0.1)  # a product of 128 x 128 numbers over sqrt(128), twice
    # Most of its planes hardly turn over 17 tokens, so it follows contents though nothing was learned.
    positional, symbolic = swap_scores(known.sharpened(matrices, 0.5).flatten(0, 1), TAUS[:1])[0].mean(-1)
    assert positional < 0.1 < 0.9 < symbolic
