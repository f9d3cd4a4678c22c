from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from whatwhere.heads.entropy import entropy_of, entropy_share, min_max


def test_entropy_of_uniform_one_hot_and_masked_attention() -> None:
    logits = torch.tensor([[0.0, 0, 0, 0], [1e4, 0, 0, 0], [5.0, 5.0, -math.inf, -math.inf]], dtype=torch.float64)
    assert entropy_of(logits.log_softmax(-1)).tolist() == pytest.approx([math.log(4), 0, math.log(2)])


def test_entropy_has_a_gradient_beside_masked_keys() -> None:
    logits = torch.tensor([1.0, 2.0, 0.0], requires_grad=True)
    entropy_of(logits.masked_fill(torch.tensor([False, False, True]), -torch.inf).log_softmax(-1)).backward()
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())


def test_share_is_1_for_uniform_attention_and_undefined_for_a_single_key() -> None:
    share = entropy_share(torch.tensor([math.log(17), 0.0]), torch.tensor([17.0, 1.0]))
    assert share[0].item() == pytest.approx(1)
    assert share[1].isnan()


def test_min_max_scales_each_layer_to_its_own_range_along_training() -> None:
    series = np.array([[2.0, 5.0], [1.0, 7.0], [1.5, 6.0]])
    np.testing.assert_allclose(min_max(series), [[1, 0], [0, 1], [0.5, 0.5]])


def test_min_max_of_a_constant_or_undefined_series_is_undefined() -> None:
    series = np.array([[3.0, math.nan, 1.0], [3.0, math.nan, math.nan], [3.0, math.nan, 2.0]])
    scaled = min_max(series)
    assert np.isnan(scaled[:, :2]).all()
    np.testing.assert_array_equal(scaled[:, 2], [0, math.nan, 1])
