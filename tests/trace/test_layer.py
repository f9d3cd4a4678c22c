from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.model.shape import ModelConfig
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.traceable import trace

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


def test_a_trace_can_be_differentiated(model: GPTJ):
    trace(model, TOKENS).attention()[..., 0].sum().backward()
    assert model.embedding.weight.grad is not None
    assert float(model.embedding.weight.grad.abs().sum()) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [3]}, "expected a layer from 0 to 2 .*, got 3"),
        ({"queries": [-10]}, "expected a query position from 0 to 8 .*, got -10"),
    ],
)
def test_what_does_not_exist_is_refused(model: GPTJ, arguments: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        trace(model, TOKENS, **arguments)


def random_layer(**changes: Any) -> LayerTrace:
    generator = torch.Generator().manual_seed(0)
    keys, asked = (torch.randn(3, 2, n, 8, generator=generator, dtype=torch.float64) for n in (7, 2))
    places = torch.tensor([4, 6])
    visible = torch.arange(7) <= places[:, None]
    layer = LayerTrace(0, asked, keys, Rotation(rope_frequencies(6, 100.0)), 0.7, places, visible)
    return replace(layer, **changes)


def test_inputs_may_see_different_keys_from_different_places():
    shared = random_layer()
    places = torch.tensor([[4, 6], [3, 5], [4, 6]])
    visible = torch.arange(7) <= places[..., None]
    visible[2, :, 0] = False
    own = random_layer(query_positions=places, visible=visible)
    assert shared.uniform and not own.uniform
    torch.testing.assert_close(own.logits()[0], shared.logits()[0])
    for index, part in enumerate(own.parts(99)):
        assert part.uniform and part.keys.shape[0] == 1
        torch.testing.assert_close(part.logits()[0], own.logits()[index])
        torch.testing.assert_close(
            part.content_by_position(1).diagonal(dim1=-2, dim2=-1).masked_fill(~part.visible[1], -torch.inf),
            part.logits()[:, :, 1],
        )
    assert [len(part.keys) for part in shared.parts(2)] == [2, 1]
    assert torch.equal(own.of_inputs(slice(1, 3)).query_positions, places[1:])


def test_a_cap_squashes_every_logit():
    plain, capped = random_layer(), random_layer(cap=1.5)
    seen = plain.visible.expand_as(plain.logits())
    torch.testing.assert_close(capped.logits()[seen], 1.5 * (plain.logits()[seen] / 1.5).tanh())
    torch.testing.assert_close(capped.content_by_position(0), 1.5 * (plain.content_by_position(0) / 1.5).tanh())
    assert float(capped.content_by_position(1).abs().max()) < 1.5


def test_a_sink_takes_its_share_and_leaves_proportions_as_they_are():
    plain, sinking = random_layer().attention(), random_layer(sink=torch.tensor([1.0, -torch.inf])).attention()
    torch.testing.assert_close(sinking[:, 1], plain[:, 1])
    share = sinking[:, 0].sum(-1, keepdim=True)
    assert float(share.max()) < 1
    torch.testing.assert_close(sinking[:, 0] / share, plain[:, 0])


def test_some_heads_and_some_queries_of_a_layer():
    layer = random_layer(sink=torch.tensor([1.0, 2.0]))
    torch.testing.assert_close(layer.of_heads([1]).attention(), layer.attention()[:, [1]])
    torch.testing.assert_close(layer.of_queries(slice(1, 2)).attention(), layer.attention()[:, :, 1:])


def test_a_trace_prints_one_line_without_arrays(model: GPTJ):
    found = trace(model, TOKENS, queries=[-1])
    assert repr(found) == "Trace(3 layers, 2 heads, 5 inputs, 9 keys, 1 query)"
    assert repr(trace(model, TOKENS, layers=[1], queries=[0, 1]).layers[0]) == (
        "LayerTrace(layer 1, 2 heads, 5 inputs, 9 keys, 2 queries)"
    )
    assert repr(found.layers[0].rotation) == "Rotation(3 planes, 1 to 0.00215 radians per position, half)"


def test_the_package_is_the_function_too(model: GPTJ):
    import whatwhere.trace.layer

    assert callable(whatwhere.trace)
    torch.testing.assert_close(whatwhere.trace(model, TOKENS).attention(), trace(model, TOKENS).attention())
