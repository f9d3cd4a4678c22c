from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.heads.frequency import MEASURES, FrequencyUse, frequency_use, plane_logits, weighted_id
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.model.shape import ModelConfig
from whatwhere.theory.index_head import index_head
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.traceable import trace

MakeLayer = Callable[..., LayerTrace]


def test_planes_sum_to_the_logit_exactly(make_layer: MakeLayer) -> None:
    for layout in ("half", "interleaved"):
        layer = make_layer(queries=(4, -1), layout=layout)
        for query, position in enumerate((4, 8)):
            total = plane_logits(layer, query).sum(-1)[..., : position + 1]
            torch.testing.assert_close(total, layer.logits()[:, :, query, : position + 1], atol=1e-12, rtol=1e-12)


def test_coordinates_that_do_not_rotate_hold_the_rest(make_layer: MakeLayer) -> None:
    layer = make_layer(width=8, rotated=4)
    still = (layer.keys[..., 4:] * layer.queries[:, :, :1, 4:]).sum(-1)
    torch.testing.assert_close(plane_logits(layer, 0).sum(-1) + still, layer.logits()[:, :, 0])


def test_variance_shares_sum_to_one_and_follow_their_definition(make_layer: MakeLayer) -> None:
    layer = make_layer(batch=3, queries=(5,))
    use = frequency_use(Trace((layer,)))
    np.testing.assert_allclose(use.each.sum(-1), 1, atol=1e-12)
    for plane in range(4):
        only = plane_logits(layer, 0)[2, 1, :6, plane].numpy()
        total = layer.logits()[2, 1, 0, :6].numpy()
        slope = np.cov(only, total, bias=True)[0, 1] / total.var()
        assert use.each[0, 2, 1, plane] == pytest.approx(slope)


def test_norm_and_margin_follow_their_definitions(make_layer: MakeLayer) -> None:
    layer = make_layer(queries=(6,))
    planes = layer.rotation.planes
    asked, keys = planes(layer.queries[0, 1, 0]), planes(layer.keys[0, 1, :7])
    expected = (asked.norm(dim=-1) * keys.norm(dim=-1)).mean(0)
    np.testing.assert_allclose(frequency_use(Trace((layer,)), "norm").each[0, 0, 1], expected)
    each = plane_logits(layer, 0)[0, 1, :7]
    best = int(each.sum(-1).argmax())
    rest = [key for key in range(7) if key != best]
    margin = frequency_use(Trace((layer,)), "margin").each[0, 0, 1]
    np.testing.assert_allclose(margin, each[best] - each[rest].mean(0))


def test_a_head_that_uses_one_plane_is_found_by_every_measure(make_layer: MakeLayer) -> None:
    layer = make_layer(width=16)
    mask = torch.zeros(16, dtype=torch.float64)
    mask[[2, 10]] = 1  # plane 2 from 0 in half layout: ID 3
    layer = replace(layer, queries=layer.queries * mask)
    for measure in MEASURES:
        use = frequency_use(Trace((layer,)), measure)
        assert (use.dominant == 3).all()
        np.testing.assert_allclose(use.weighted_id, 3)


def test_the_index_construction_lives_on_its_single_plane() -> None:
    found = index_head(0.866, 30.0).trace(np.array([[0, 1, 2, 121]]), queries=[-1])
    use = frequency_use(found)
    assert use.weights.ravel() == pytest.approx([1.0])
    assert use.frequencies == pytest.approx([0.866])


def test_the_weighted_id_is_a_mean_under_positive_weights() -> None:
    assert weighted_id(np.array([0.0, 1.0, 1.0])) == pytest.approx(2.5)
    assert weighted_id(np.array([1.0, -5.0, 1.0])) == pytest.approx(2.0)
    assert np.isnan(weighted_id(np.array([[0.0, -1.0], [np.nan, np.nan]]))).all()


def test_inputs_without_a_contrast_are_undefined_and_counted(make_layer: MakeLayer) -> None:
    layer = make_layer(batch=3, heads=1)
    queries = layer.queries.clone()
    queries[1] = 0  # equal logits: nothing to share
    use = frequency_use(Trace((replace(layer, queries=queries),)))
    assert use.undefined.tolist() == [[1]]
    np.testing.assert_allclose(use.weights, use.each[:, [0, 2]].mean(1))
    alone = make_layer(queries=(0,))  # sees itself only
    for measure in ("variance", "margin"):
        use = frequency_use(Trace((alone,)), measure)
        assert use.undefined.tolist() == [[2, 2]]
        assert np.isnan(use.weights).all()
        assert np.isnan(use.weighted_id).all()
        assert np.isnan(use.dominant).all()
        assert np.isnan(use.intervals().id_low).all()


def test_closed_planes_carry_nothing() -> None:
    config = ModelConfig(vocab_size=20, layers=2, d_model=16, d_mlp=16, closed_planes=((1, 2), ()))
    model = GPTJ(config, seed=0)
    tokens = torch.randint(0, 20, (5, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        use = frequency_use(trace(model, tokens))
    assert (use.each[0, :, :, :2] == 0).all()
    assert (use.each[1, :, :, :2] != 0).all()


def test_intervals_hold_the_means_and_are_those_of_the_inputs() -> None:
    each = np.random.default_rng(0).random((1, 400, 1, 3)) + np.array([0.0, 1.0, 0.0])
    use = FrequencyUse(each, (0,), np.ones(3), "variance")
    ends = use.intervals()
    assert (ends.weights_low < use.weights).all()
    assert (use.weights < ends.weights_high).all()
    half = 1.96 * each.std(1) / 20
    np.testing.assert_allclose(ends.weights_high - use.weights, half, rtol=0.1)
    assert ends.id_low < use.weighted_id < ends.id_high


def test_impossible_requests_are_refused(make_layer: MakeLayer) -> None:
    layer = make_layer()
    with pytest.raises(WhatwhereError, match="expected a measure of norm, variance, margin, got 'size'"):
        frequency_use(Trace((layer,)), "size")
    with pytest.raises(WhatwhereError, match="got an empty one"):
        frequency_use(Trace(()))
    still = replace(layer, rotation=Rotation(rope_frequencies(0, None)))
    with pytest.raises(WhatwhereError, match="rotate no coordinate"):
        frequency_use(Trace((still,)))


def test_layers_that_rotate_differently_are_weighed_one_at_a_time(make_layer: MakeLayer) -> None:
    here, there = make_layer(), replace(make_layer(rotated=4), layer=1)
    with pytest.raises(WhatwhereError, match="got layer 1 with another one than layer 0"):
        frequency_use(Trace((here, there)))
    assert frequency_use(Trace((there,))).layers == (1,)


def test_a_norm_grows_with_the_scale_of_the_logits(make_layer: MakeLayer) -> None:
    layer = make_layer()
    whole, quarter = (
        frequency_use(Trace((replace(layer, scale=layer.scale * by),)), "norm").each for by in (1.0, 0.25)
    )
    np.testing.assert_allclose(quarter, whole / 4)


def test_the_variance_is_the_default_and_one_plane_has_all_of_it(make_layer: MakeLayer) -> None:
    layer = make_layer(width=2, batch=3)
    use = frequency_use(Trace((layer,)))
    assert use.measure == "variance"
    np.testing.assert_allclose(use.each, 1)
    assert use.undefined.tolist() == [[0, 0]]
    assert use.dominant.tolist() == [[1, 1]]
    assert use != replace(use), "told apart by what they are"
    assert use.intervals() != use.intervals()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_logits_that_differ_by_rounding_only_tell_no_plane_from_another(make_layer: MakeLayer, size: float) -> None:
    layer = make_layer(batch=1, heads=1, seq=12)
    same = torch.full((1, 1, 12, 8), size, dtype=torch.float64)
    turned_back = layer.rotation.turn(same, -layer.key_positions)  # so that all keys are equal once they are rotated
    use = frequency_use(Trace((replace(layer, keys=turned_back),)))
    assert np.isnan(use.each).all()


def test_intervals_are_those_of_seed_0_unless_asked_otherwise(make_layer: MakeLayer) -> None:
    use = frequency_use(Trace((make_layer(batch=5), replace(make_layer(batch=5, seed=1), layer=1))))
    first, again, other = use.intervals(), use.intervals(0), use.intervals(1)
    assert first.weights_low.shape == (2, 2, 4) and first.id_low.shape == (2, 2)
    np.testing.assert_array_equal(first.id_high, again.id_high)
    assert (first.id_high != other.id_high).any()
    assert first.id_low[0] == pytest.approx([2.064038992780565, 1.9825826359630216])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("tile", [1, 100])
def test_weights_do_not_depend_on_how_many_logits_are_held_at_a_time(
    make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch, measure: str, tile: int
) -> None:
    trace = Trace((make_layer(batch=3, queries=(2, 5, -1)),))
    whole = frequency_use(trace, measure).each
    monkeypatch.setattr("whatwhere.heads.frequency.TILE", tile)
    np.testing.assert_allclose(frequency_use(trace, measure).each, whole, rtol=1e-9)
