from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

import whatwhere.heads.long_swaps
import whatwhere.heads.scores
from whatwhere.errors import WhatwhereError
from whatwhere.heads.long_swaps import EPSILON, TILE, important_keys
from whatwhere.heads.scores import score, score_weightings
from whatwhere.heads.swaps import factors
from whatwhere.heads.weighting import TAUS, Weighting, band
from whatwhere.trace.layer import LayerTrace, Trace

MakeLayer = Callable[..., LayerTrace]


def both_paths(layer: LayerTrace, weightings: list[Weighting], monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """Scores by the path for long inputs and by all swaps at once, ``[path, weighting, 2, ...]``."""
    found = []
    for short in (0, 10**6):
        with monkeypatch.context() as patch:
            patch.setattr(whatwhere.heads.scores, "SHORT", short)
            scores = score_weightings(Trace((layer,)), weightings)
        found.append(torch.stack([torch.stack([one.each_positional, one.each_symbolic]) for one in scores]))
    return torch.stack(found)


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "seq": st.integers(3, 60),
        "rotated": st.sampled_from([0, 4, 8]),
        "layout": st.sampled_from(["half", "interleaved"]),
        "size": st.sampled_from([0.0, 0.3, 1.0, 2.0, 5.0]),
        "queries": st.sampled_from([(-1,), (2, -1)]),
    }
)


@settings(max_examples=40, deadline=None)
@given(shape=shapes, tau=st.sampled_from([1e-5, *TAUS, 1.0]))
@pytest.mark.slow
def test_few_swaps_give_the_sum_over_all_swaps_to_1e_9(make_layer: MakeLayer, shape: dict, tau: float) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        weightings = [Weighting(tau), Weighting(tau, renormalised=True, among=tuple(range(1, shape["seq"])))]
        long, short = both_paths(make_layer(**shape), weightings, monkeypatch)
    torch.testing.assert_close(long, short, rtol=0, atol=1e-9, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(
    logits=st.lists(st.floats(-40, 40), min_size=2, max_size=40),
    tau=st.sampled_from([1e-4, 1e-2, 0.1, 1.0]),
    epsilon=st.sampled_from([1e-9, 1e-3, 0.1]),
)
def test_the_swaps_that_are_left_out_weigh_no_more_than_promised(
    logits: list[float], tau: float, epsilon: float
) -> None:
    mass = torch.tensor(logits, dtype=torch.float64).softmax(-1)[None, None]
    keys = important_keys(factors(mass, tau, torch.ones(1, len(logits), dtype=torch.bool)), epsilon)[0, 0]
    i, j = torch.triu_indices(len(logits), len(logits), offset=1)
    weights = ((mass[0, 0, i] - mass[0, 0, j]).abs() / tau).softmax(0)
    assert float(weights[~keys[i] & ~keys[j]].sum()) <= epsilon * (1 + 1e-9)


def test_of_a_sharp_head_one_key_matters_and_of_a_flat_head_all() -> None:
    counted = torch.ones(1, 1000, dtype=torch.bool)
    sharp = torch.zeros(1, 1, 1000, dtype=torch.float64)
    sharp[..., 7] = 1.0
    assert important_keys(factors(sharp, 1e-4, counted)).nonzero()[:, 2].tolist() == [7]
    missing = (1 - sharp) / 999  # one key without attention among equal ones: the same, upside down
    assert important_keys(factors(missing, 1e-5, counted)).nonzero()[:, 2].tolist() == [7]
    assert important_keys(factors(torch.full_like(sharp, 1e-3), 1e-4, counted)).all()


def test_a_key_whose_swaps_share_too_little_of_the_weight_is_left_out() -> None:
    # At tau 1 the swaps of key 1 with the 998 others weigh 998 exp(16), and those of key 0 as good as 998 exp(50): a
    # share of 2e-15. Both keys together would be chosen if only a share of 1e-18 could be left out.
    mass = torch.zeros(1, 1, 1000, dtype=torch.float64)
    mass[..., 0], mass[..., 1] = 50.0, 16.0
    chosen = important_keys(factors(mass, 1.0, torch.ones(1, 1000, dtype=torch.bool)))
    assert chosen.nonzero()[:, 2].tolist() == [0]


@pytest.mark.parametrize(
    "changes", [{"cap": 1.5}, {"sink": torch.tensor([2.0, -1.0], dtype=torch.float64)}, {"scale": 0.6}]
)
def test_caps_sinks_scales_and_windows_are_the_same_on_both_paths(
    make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    layer = make_layer(seq=30, queries=(20, -1))
    visible = layer.visible.clone()
    visible[:, 3:9] = False
    long, short = both_paths(replace(layer, visible=visible, **changes), band(), monkeypatch)
    torch.testing.assert_close(long, short, rtol=0, atol=1e-9)


@pytest.mark.parametrize("tile", [1, 40, 700])
def test_scores_do_not_depend_on_the_size_of_the_blocks(
    make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch, tile: int
) -> None:
    layer = make_layer(seq=30, size=0.7, queries=(20, -1))
    whole = score(Trace((layer,)), 0.01)
    monkeypatch.setattr(whatwhere.heads.long_swaps, "TILE", tile)
    monkeypatch.setattr(whatwhere.heads.scores, "TILE", tile)
    blocked = score(Trace((layer,)), 0.01)
    torch.testing.assert_close(blocked.each_positional, whole.each_positional, rtol=0, atol=1e-12)
    torch.testing.assert_close(blocked.each_symbolic, whole.each_symbolic, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_long_scores_are_differentiable_too(make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatwhere.heads.scores, "SHORT", 0)
    layer = make_layer(batch=1, heads=1, seq=6, width=4, size=1.0, queries=(1, -1))

    def both(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        scores = score(Trace((replace(layer, queries=queries, keys=keys),)), 0.1)
        return torch.stack([scores.positional, scores.symbolic])

    assert torch.autograd.gradcheck(both, (layer.queries.requires_grad_(), layer.keys.requires_grad_()))


class LargestResult(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation makes."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        return result


@pytest.mark.parametrize("tau", [1e-4, 0.1])
def test_no_temporary_of_a_long_input_is_as_large_as_its_content_by_position_matrix(
    make_layer: MakeLayer, tau: float
) -> None:
    layer = make_layer(batch=1, heads=2, seq=1100, size=1.0)
    with LargestResult() as watched:
        score(Trace((layer,)), tau)
    assert watched.largest <= TILE < 2 * 1100**2


@pytest.mark.parametrize(
    ("tau", "queries", "samples"),
    [(0.01, 20, None), (0.1, 2, None), (0.1, 2, 2000)],
    ids=["few swaps", "all swaps", "drawn swaps"],
)
def test_a_smaller_tile_bounds_the_temporaries_of_each_path(
    make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch, tau: float, queries: int, samples: int | None
) -> None:
    layer = make_layer(batch=1, heads=1, seq=200, size=2.0, queries=range(200 - queries, 200))
    for module in (whatwhere.heads.long_swaps, whatwhere.heads.scores):
        monkeypatch.setattr(module, "TILE", 4096)  # of drawn swaps 512 at a time, with 8 coordinates
    with LargestResult() as watched:
        score(Trace((layer,)), tau, samples=samples)
    assert watched.largest <= 4096


def test_a_long_input_at_a_small_tau_needs_a_fraction_of_the_time_of_all_swaps(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(batch=1, heads=2, seq=2048, width=16, size=1.5),))
    times = []
    for tau in (1e-4, 1.0):
        start = time.process_time()
        score(trace, tau)
        times.append(time.process_time() - start)
    assert times[1] > 10 * times[0]


def test_sampled_swaps_come_as_near_as_their_bound_says(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(batch=4, seq=50, size=0.6, queries=(30, -1)),))
    exact, sampled = score(trace, 0.1), score(trace, 0.1, samples=20_000)
    assert exact.bound == EPSILON
    assert 0.005 < sampled.bound < 0.02
    for name in ("each_positional", "each_symbolic"):
        difference = (getattr(sampled, name) - getattr(exact, name)).abs()
        assert 0 < float(difference.max()) < sampled.bound
    again, other = score(trace, 0.1, samples=20_000), score(trace, 0.1, samples=20_000, seed=1)
    assert torch.equal(again.each_positional, sampled.each_positional)
    assert not torch.equal(other.each_positional, sampled.each_positional)


def test_a_weighting_without_two_keys_has_no_score_also_where_swaps_are_sampled(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(seq=50, size=0.6),))
    weightings = [Weighting(0.1, among=among) for among in (None, (3, 8), (3,), ())]
    _, two, one, none = score_weightings(trace, weightings, samples=20)
    exact = score(trace, 0.1, among=(3, 8))  # a single swap, so every draw is it
    torch.testing.assert_close(two.each_positional, exact.each_positional, rtol=0, atol=1e-12)
    for scores in (one, none):
        assert scores.each_positional.isnan().all()
        assert scores.each_symbolic.isnan().all()


def test_sampling_leaves_alone_what_few_swaps_decide(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(seq=50, size=4.0),))
    assert torch.equal(score(trace, samples=10).each_positional, score(trace).each_positional)


def test_no_samples_are_refused(make_layer: MakeLayer) -> None:
    with pytest.raises(WhatwhereError, match="expected 1 or more samples, got 0"):
        score(Trace((make_layer(),)), samples=0)


@pytest.mark.parametrize(("attended", "chosen"), [(4, 4), (5, 10)])
def test_fewer_than_half_of_the_keys_are_chosen_or_all(attended: int, chosen: int) -> None:
    mass = torch.zeros(1, 1, 10, dtype=torch.float64)
    mass[..., :attended] = 1 / attended
    assert int(important_keys(factors(mass, 1e-3, torch.ones(1, 10, dtype=torch.bool))).sum()) == chosen


def test_the_swaps_drawn_from_a_seed_stay_what_they_were(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(batch=1, heads=1, seq=60, size=0.6, queries=(40, -1)),))
    for drawn in (score(trace, 0.1, samples=50), score(trace, 0.1, samples=50, seed=0)):
        assert drawn.each_positional.flatten().tolist() == pytest.approx([0.21233784593175223, 0.5168334210614841])
        assert drawn.each_symbolic.flatten().tolist() == pytest.approx([0.943501654663085, 0.9740356668507202])
    assert score(trace, 0.1).each_positional.flatten().tolist() == pytest.approx(
        [0.17238699212204348, 0.5283922388796217]
    )


def test_two_keys_have_one_swap_on_every_path(make_layer: MakeLayer, monkeypatch: pytest.MonkeyPatch) -> None:
    long, short = both_paths(make_layer(seq=3), [Weighting(0.1)], monkeypatch)
    torch.testing.assert_close(long, short, rtol=0, atol=1e-12)
    assert not long.isnan().any()
