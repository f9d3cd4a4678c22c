from typing import Any

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.config import ModelConfig
from whatwhere.model.gptj import GPTJ
from whatwhere.model.trace import trace

TOKENS = np.random.default_rng(0).integers(0, 20, (5, 9))


@pytest.fixture
def model() -> GPTJ:
    model = GPTJ(ModelConfig(20, layers=3, heads=2, d_model=16, d_mlp=32, rotary_dim=6, init_std=0.3))
    return model.double()


def test_the_matrix_of_contents_and_positions_says_what_moving_a_key_would_do(model: GPTJ):
    layer = trace(model, TOKENS, layers=[1]).layers[0]
    matrix = layer.content_by_position(0)  # [batch, head, content, place]
    torch.testing.assert_close(matrix.diagonal(dim1=-2, dim2=-1), layer.logits()[:, :, 0])
    for content, place in [(0, 5), (7, 2)]:
        moved = layer.keys.clone()
        moved[:, :, place] = layer.keys[:, :, content]
        query = layer.rotation.turn(layer.queries[:, :, 0], layer.query_positions[0])
        key = layer.rotation.turn(moved[:, :, place], torch.tensor(place))
        torch.testing.assert_close(matrix[..., content, place], (query * key).sum(-1) * layer.scale)


def test_attention_sums_to_one_and_never_looks_ahead(model: GPTJ):
    found = trace(model, TOKENS, queries=[0, 4, -1])
    weights = found.attention()  # [layer, batch, head, query, key]
    assert weights.shape == (3, 5, 2, 3, 9)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    for query, position in enumerate([0, 4, 8]):
        assert (weights[..., query, position + 1 :] == 0).all()


def test_layers_and_queries_come_as_asked(model: GPTJ):
    found = trace(model, TOKENS, layers=[2, 0], queries=[-1, 3])
    assert [layer.layer for layer in found.layers] == [2, 0]
    assert found.layers[0].query_positions.tolist() == [8, 3]
    everything = trace(model, TOKENS, queries=range(9))
    torch.testing.assert_close(found.layers[0].logits()[:, :, 1], everything.layers[2].logits()[:, :, 3])


def test_residuals_are_the_stream_around_every_layer(model: GPTJ):
    found = trace(model, TOKENS, layers=[0], residuals=True)
    assert found.residuals is not None
    assert found.residuals.shape == (4, 5, 9, 16)
    torch.testing.assert_close(model.head(model.norm(found.residuals[-1])), model(torch.as_tensor(TOKENS)))


def test_a_trace_can_be_differentiated(model: GPTJ):
    trace(model, TOKENS).attention()[..., 0].sum().backward()
    assert model.embedding.weight.grad is not None
    assert float(model.embedding.weight.grad.abs().sum()) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [3]}, "there is no layer 3: they run from 0 to 2"),
        ({"queries": [-10]}, "there is no query position -10"),
    ],
)
def test_what_does_not_exist_is_refused(model: GPTJ, arguments: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        trace(model, TOKENS, **arguments)


def test_something_that_is_no_model_is_refused():
    with pytest.raises(WhatwhereError, match=r"a whatwhere model was expected .* a str arrived"):
        trace("number", TOKENS)  # pyright: ignore[reportArgumentType]
