from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from checked_types import unchecked
from hypothesis import given, settings
from hypothesis import strategies as st

import whatwhere.heads.scores
from whatwhere.errors import WhatwhereError
from whatwhere.heads.head_scores import HeadScores
from whatwhere.heads.scores import score, score_weightings
from whatwhere.heads.swaps import swap_cosines
from whatwhere.heads.weighting import TAUS, Weighting
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import interleaved_to_half, rope_frequencies
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.traceable import trace

MakeLayer = Callable[..., LayerTrace]
BruteForce = Callable[..., tuple[float, float]]

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "seq": st.integers(3, 9),
        "rotated": st.sampled_from([0, 4, 8]),
        "layout": st.sampled_from(["half", "interleaved"]),
        "size": st.sampled_from([0.0, 0.3, 2.0, 4.0]),
        "queries": st.sampled_from([(-1,), (2, -1)]),
        "dtype": st.sampled_from([torch.float32, torch.float64]),
    }
)


def one(layer: LayerTrace, tau: float = 0.01, *, renormalised: bool = False) -> HeadScores:
    return score(Trace((layer,)), tau, renormalised=renormalised)


@settings(max_examples=30)
@given(shape=shapes, tau=st.sampled_from(TAUS))
@pytest.mark.slow
def test_scores_are_what_the_definition_says(
    make_layer: MakeLayer, brute_force: BruteForce, shape: dict, tau: float
) -> None:
    layer = make_layer(**shape)
    scores = one(layer, tau)
    for query in range(len(layer.query_positions)):
        for head in range(2):
            found = float(scores.each_positional[0, 1, head, query]), float(scores.each_symbolic[0, 1, head, query])
            assert found == pytest.approx(brute_force(layer, 1, head, query, tau), abs=1e-10)


@pytest.mark.parametrize("tile", [1, 150, 10**6])
def test_long_inputs_are_scored_as_the_definition_says_some_inputs_and_queries_at_a_time(
    make_layer: MakeLayer, brute_force: BruteForce, monkeypatch: pytest.MonkeyPatch, tile: int
) -> None:
    monkeypatch.setattr(whatwhere.heads.scores, "SHORT", 5)
    monkeypatch.setattr(whatwhere.heads.scores, "TILE", tile)
    layer = replace(make_layer(seq=6, queries=(3, 4, 5), size=1.2), scale=0.7)
    scores = score(Trace((layer,)), 0.1)
    for input, head, query in ((0, 0, 0), (1, 0, 1), (1, 1, 2)):
        found = [float(each[0, input, head, query]) for each in (scores.each_positional, scores.each_symbolic)]
        assert found == pytest.approx(brute_force(layer, input, head, query, 0.1), abs=1e-8)


def test_keys_that_a_query_cannot_see_take_no_part(make_layer: MakeLayer, brute_force: BruteForce) -> None:
    layer = make_layer(seq=9, queries=(7,))
    visible = layer.visible.clone()
    visible[0, [0, 3]] = False  # a window, a padded key
    layer = replace(layer, visible=visible)
    scores = one(layer, 0.1)
    found = float(scores.each_positional[0, 0, 1, 0]), float(scores.each_symbolic[0, 0, 1, 0])
    assert found == pytest.approx(brute_force(layer, 0, 1, 0, 0.1), abs=1e-12)
    assert scores.visible.tolist() == [[6]]


@settings(max_examples=50)
@given(shape=shapes, tau=st.floats(1e-4, 10))
def test_scores_lie_between_0_and_1_and_their_sum_is_at_least_1(make_layer: MakeLayer, shape: dict, tau: float) -> None:
    scores = one(make_layer(**shape), tau)
    both = torch.stack([scores.each_positional, scores.each_symbolic])
    assert both.min() >= -1e-12
    assert both.max() <= 1 + 1e-12
    assert both.sum(0).min() >= 1 - 1e-12


@pytest.mark.parametrize("tau", TAUS)
def test_uniform_attention_is_positional_and_symbolic_at_once(make_layer: MakeLayer, tau: float) -> None:
    scores = one(make_layer(size=0.0), tau)
    torch.testing.assert_close(scores.positional, torch.ones(1, 2, dtype=torch.float64))
    torch.testing.assert_close(scores.symbolic, torch.ones(1, 2, dtype=torch.float64))
    torch.testing.assert_close(scores.entropy_share, torch.ones(1, 2, dtype=torch.float64))


def test_constant_keys_make_an_exactly_positional_head(make_layer: MakeLayer) -> None:
    layer = make_layer(keys=torch.ones(1, 1, 9, 8, dtype=torch.float64))
    scores = one(layer)
    assert float(scores.positional) == pytest.approx(1, abs=1e-14)
    assert float(scores.symbolic) < 0.9


def test_without_rotation_a_head_is_exactly_symbolic(make_layer: MakeLayer) -> None:
    scores = one(make_layer(frequencies=rope_frequencies(8, None)))
    torch.testing.assert_close(scores.symbolic, torch.ones(1, 2, dtype=torch.float64), rtol=0, atol=1e-14)
    assert scores.positional.max() < 0.9


def one_hot_symbolic_head(make_layer: MakeLayer, peak: float, seq: int = 17) -> LayerTrace:
    """One key of height ``peak`` among flat ones, and no rotation."""
    keys = torch.zeros(1, 1, seq, 2, dtype=torch.float64)
    keys[0, 0, 3, 0] = peak
    asked = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(1, 1, 1, 2)
    return make_layer(keys=keys, asked=asked, frequencies=torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize(
    ("tau", "other"),
    [(10.0, 0.864), (1.0, 0.720), (0.5, 0.486), (0.25, 0.114), (0.2, 0.045), (0.1, 0.0003), (0.05, 0.0)],
)
def test_large_tau_lets_swaps_that_move_nothing_drown_the_rest(make_layer: MakeLayer, tau: float, other: float) -> None:
    """The specification's table for a one-hot head at 17 tokens: 105 / (15 exp(1 / tau) + 105)."""
    scores = one(one_hot_symbolic_head(make_layer, peak=60.0), tau)
    assert float(scores.positional) == pytest.approx(other, abs=6e-4)
    assert float(scores.symbolic) == pytest.approx(1)


def test_small_tau_counts_only_the_swaps_that_move_most(make_layer: MakeLayer) -> None:
    scores = one(one_hot_symbolic_head(make_layer, peak=3.0), 1e-4)
    assert float(scores.positional) == pytest.approx(1 / math.cosh(3.0), abs=1e-12)


def test_huge_logits_overflow_nothing(make_layer: MakeLayer) -> None:
    scores = one(make_layer(size=1e5), 1e-6)
    assert bool(torch.isfinite(scores.each_positional + scores.each_symbolic + scores.each_entropy).all())


def test_the_layout_of_planes_changes_nothing(make_layer: MakeLayer) -> None:
    layer = make_layer(layout="interleaved")
    order = interleaved_to_half(8, 8)
    half = replace(
        layer,
        queries=layer.queries[..., order],
        keys=layer.keys[..., order],
        rotation=replace(layer.rotation, layout="half"),
    )
    torch.testing.assert_close(one(layer).each_positional, one(half).each_positional, rtol=0, atol=1e-12)


def test_renaming_symbols_changes_nothing(make_layer: MakeLayer) -> None:
    """As in the Retrieval head, whose letters are angles: every key and query turns by as many letters."""
    layer = make_layer()
    renamed = replace(
        layer,
        queries=layer.rotation.turn(layer.queries, torch.tensor(2.5)),
        keys=layer.rotation.turn(layer.keys, torch.tensor(2.5)),
    )
    torch.testing.assert_close(one(layer).each_positional, one(renamed).each_positional, rtol=0, atol=1e-12)
    torch.testing.assert_close(one(layer).each_symbolic, one(renamed).each_symbolic, rtol=0, atol=1e-12)


def test_a_constant_added_to_every_logit_changes_nothing(make_layer: MakeLayer) -> None:
    layer = make_layer(rotated=6)
    queries, keys = layer.queries.clone(), layer.keys.clone()
    queries[..., 7], keys[..., 7] = 5.0, 2.0  # an unrotated coordinate, the same for all keys
    without = keys.clone()
    without[..., 7] = 0.0
    a, b = replace(layer, queries=queries, keys=keys), replace(layer, queries=queries, keys=without)
    torch.testing.assert_close(one(a).each_symbolic, one(b).each_symbolic, rtol=0, atol=1e-12)


def test_a_query_with_fewer_than_two_keys_to_swap_is_undefined_and_counted(make_layer: MakeLayer) -> None:
    layer = make_layer(batch=3, queries=(0, 1, 2, -1))
    scores = one(layer)
    assert scores.each_positional[0, :, :, :2].isnan().all()
    assert scores.undefined.tolist() == [[6, 6]]
    expected = scores.each_positional[0, :, :, 2:].mean((0, 2))
    torch.testing.assert_close(scores.positional[0], expected)
    short = one(make_layer(seq=2))
    assert short.positional.isnan().all()
    assert short.undefined.tolist() == [[2, 2]]


def test_a_self_attending_head_is_scored_on_unattended_keys_unless_renormalised(make_layer: MakeLayer) -> None:
    """Own position +20; among the others one content stands out, on a background that is positional and steep."""
    layer = make_layer(batch=1, heads=1, seq=17, size=2.0, seed=3)
    keys = torch.cat([layer.keys, torch.zeros(1, 1, 17, 1, dtype=torch.float64)], -1)
    keys[..., -1, -1] = 400.0
    asked = torch.cat([layer.queries, torch.ones(1, 1, 1, 1, dtype=torch.float64)], -1)
    layer = replace(layer, keys=keys, queries=asked)
    plain, renormalised = one(layer), one(layer, renormalised=True)
    assert float(plain.own) > 0.999
    uniform = one(layer, 1e6)  # all swaps weigh the same
    assert float(plain.positional) == pytest.approx(float(uniform.positional), abs=1e-6)
    without_own = replace(layer, visible=layer.visible & (layer.key_positions != 16))
    assert float(renormalised.positional) == pytest.approx(float(one(without_own).positional), abs=1e-12)
    assert renormalised.weighting.renormalised
    assert abs(float(renormalised.positional) - float(plain.positional)) > 0.01


def test_a_head_that_rejects_one_kind_of_token_is_positional_within_each_kind(make_layer: MakeLayer) -> None:
    """Keys are equal but for an unrotated coordinate by which the second half is never looked at."""
    keys = torch.ones(1, 1, 17, 10, dtype=torch.float64)
    keys[..., 8:16, 8:] = -20.0
    layer = make_layer(keys=keys, asked=torch.ones(1, 1, 1, 10, dtype=torch.float64) * 2, rotated=8)
    whole, within = one(layer), score(Trace((layer,)), among=range(8))
    assert float(whole.positional) < 0.9
    assert float(within.positional) == pytest.approx(1, abs=1e-12)
    assert within.weighting.among == tuple(range(8))


def test_swaps_among_chosen_keys_weigh_the_attention_over_all_keys(make_layer: MakeLayer) -> None:
    layer, tau = make_layer(seq=6), 0.1
    among = [0, 2, 3]
    found = score(Trace((layer,)), tau, among=among)
    attention, m = layer.attention()[0, 0, 0], layer.content_by_position(0)[0, 0]
    pairs = [(0, 2), (0, 3), (2, 3)]
    cosines = [swap_cosines(m[i, i] - m[j, j], m[j, i] - m[i, j])[0] for i, j in pairs]
    weights = torch.stack([(attention[i] - attention[j]).abs() / tau for i, j in pairs]).softmax(0)
    assert float(found.each_positional[0, 0, 0, 0]) == pytest.approx(float(weights @ torch.stack(cosines)), abs=1e-12)
    assert score(Trace((layer,)), among=[2]).undefined.tolist() == [[2, 2]]


def test_scores_are_differentiable_in_queries_and_keys(make_layer: MakeLayer) -> None:
    layer = make_layer(batch=1, heads=1, seq=5, width=4, size=1.0, queries=(1, -1))

    def both(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        scores = one(replace(layer, queries=queries, keys=keys), 0.1)
        return torch.stack([scores.positional, scores.symbolic, scores.entropy])

    inputs = layer.queries.requires_grad_(), layer.keys.requires_grad_()
    assert torch.autograd.gradcheck(both, inputs)


def test_results_carry_their_settings(make_layer: MakeLayer) -> None:
    layer = make_layer(batch=4)
    scores = score(Trace((layer, replace(layer, layer=5))), 0.25)
    assert (scores.tau, scores.level, scores.inputs, scores.layers) == (0.25, "keys", 4, (0, 5))
    assert (scores.weighting.renormalised, scores.weighting.among) == (False, None)
    assert scores.positional.shape == scores.symbolic.shape == scores.entropy.shape == (2, 2)


def test_an_empty_trace_is_refused(make_layer: MakeLayer) -> None:
    for empty in (Trace(()), Trace((make_layer(batch=0),))):
        with pytest.raises(WhatwhereError, match="expected a trace of at least one layer, input"):
            score(empty)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU; runs wherever there is one")
def test_scores_on_a_gpu_are_the_same(make_layer: MakeLayer) -> None:
    layer = make_layer()
    there = {name: getattr(layer, name).cuda() for name in ("queries", "keys", "query_positions", "visible")}
    found = one(replace(layer, **there))
    torch.testing.assert_close(found.each_positional.cpu(), one(layer).each_positional, rtol=0, atol=1e-10)


def test_several_weightings_at_once_are_each_as_alone(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(seq=9, queries=(1, 5, -1), seed=4),))
    weightings = [
        Weighting(0.01),
        Weighting(0.3, renormalised=True),
        Weighting(0.01, renormalised=True, among=(1, 2, 4, 7)),
        Weighting(0.01, among=(3,)),
    ]
    for one_of_them, together in zip(weightings, score_weightings(trace, weightings), strict=True):
        alone = score(trace, one_of_them.tau, renormalised=one_of_them.renormalised, among=one_of_them.among)
        torch.testing.assert_close(together.each_positional, alone.each_positional, equal_nan=True)
        torch.testing.assert_close(together.each_symbolic, alone.each_symbolic, equal_nan=True)
        assert together.weighting == one_of_them
    assert score_weightings(trace, weightings)[3].each_positional.isnan().all()


@pytest.mark.parametrize("changes", [{"cap": 1.5}, {"sink": torch.tensor([2.0, -1.0], dtype=torch.float64)}])
def test_caps_and_sinks_enter_as_attention_has_them(make_layer: MakeLayer, changes: dict[str, object]) -> None:
    layer = replace(make_layer(seq=8), **changes)
    scores, attention = one(layer), layer.attention()[:, :, 0]
    torch.testing.assert_close(scores.each_own[0, ..., 0], attention[..., -1])
    rest = 1 - attention.sum(-1)  # what a sink takes
    entropy = -(attention * attention.log()).sum(-1) - torch.where(rest > 1e-9, rest * rest.clamp(min=1e-12).log(), 0)
    torch.testing.assert_close(scores.each_entropy[0, ..., 0], entropy)
    assert scores.visible.tolist() == [[8 + ("sink" in changes)]]


def test_weights_drawn_around_0_give_uniform_attention_only_if_they_are_small() -> None:
    task = NumberTask()
    tokens = task.sample(16, hops=2, seed=0).tokens
    shares = {
        spread: score(trace(GPTJ(ModelConfig(vocab_size=task.vocab_size, init_std=spread), seed=0), tokens)).to_frame()
        for spread in (0.02, 0.4)
    }
    columns = ["positional", "symbolic", "entropy_share"]
    assert (shares[0.02][columns].to_numpy() > 0.95).all()
    assert (shares[0.4][columns].to_numpy()[:, [0, 2]] < (0.8, 0.2)).all()


def test_up_to_40_keys_all_swaps_are_computed_at_once(make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the path for long inputs")

    monkeypatch.setattr(whatwhere.heads.scores, "long_scores", refuse)
    score(Trace((make_layer(seq=40),)))
    with pytest.raises(AssertionError, match="long inputs"):
        score(Trace((make_layer(seq=41),)))


@pytest.mark.parametrize("tile", [1, 300])
def test_short_inputs_are_scored_some_at_a_time(
    make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch, tile: int
) -> None:
    trace = Trace((make_layer(batch=5, queries=(3, -1)),))
    whole = score(trace, 0.1)
    monkeypatch.setattr(whatwhere.heads.scores, "SHORT_TILE", tile)
    parts = score(trace, 0.1)
    for name in ("each_positional", "each_symbolic", "each_entropy", "each_own"):
        torch.testing.assert_close(getattr(parts, name), getattr(whole, name), rtol=0, atol=1e-12)


def test_one_sample_and_the_largest_seed_are_taken(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(seq=50, size=0.6),))
    assert score(trace, 0.1, samples=1, seed=LARGEST_SEED).inputs == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0.5}, "expected 1 or more samples, got 0.5"),
        ({"samples": -1}, "expected 1 or more samples, got -1"),
        ({"seed": -1}, "expected a seed of 0 or more, and at most .*, got -1"),
        ({"seed": 0.5}, "expected a seed of 0 or more, and at most .*, got 0.5"),
        ({"seed": LARGEST_SEED + 1}, "expected a seed of 0 or more, and at most .*, got 9223372036854775808"),
        ({"among": [0.5]}, r"expected positions among which keys are swapped, got \[0.5\]"),
    ],
)
def test_impossible_options_are_refused(make_layer: MakeLayer, options: dict, message: str) -> None:
    with unchecked(), pytest.raises(WhatwhereError, match=message):
        score(Trace((make_layer(),)), **options)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_queries_that_are_no_numbers_and_what_is_no_trace_are_refused(make_layer: MakeLayer, bad: float) -> None:
    layer = make_layer()
    layer.queries[1, 0, 0, 3] = bad
    with pytest.raises(WhatwhereError, match="expected finite queries, got some in layer 0 that are not"):
        score(Trace((layer,)))
    with unchecked(), pytest.raises(WhatwhereError, match="expected a trace, got a LayerTrace; make one with"):
        score(layer)  # pyright: ignore[reportArgumentType]


def test_a_weighting_by_renormalised_attention_leaves_out_all_but_the_counted_keys(make_layer: MakeLayer) -> None:
    layer, among = make_layer(seq=7), (0, 2, 5)
    found = score(Trace((layer,)), 0.1, renormalised=True, among=among)
    m = layer.content_by_position(0)[0, 0]
    attention = torch.stack([m[p, p] for p in among]).softmax(0)
    pairs = [(0, 1), (0, 2), (1, 2)]
    cosines = []
    for a, b in pairs:
        i, j = among[a], among[b]
        cosines.append(swap_cosines(m[i, i] - m[j, j], m[j, i] - m[i, j])[1])
    weights = torch.stack([(attention[a] - attention[b]).abs() / 0.1 for a, b in pairs]).softmax(0)
    assert float(found.each_symbolic[0, 0, 0, 0]) == pytest.approx(float(weights @ torch.stack(cosines)), abs=1e-12)
