from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.heads.head_scores import join_inputs
from whatwhere.heads.scores import score
from whatwhere.heads.summary import estimates
from whatwhere.heads.weighting import reading_mask
from whatwhere.tasks import NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.trace.layer import LayerTrace, Trace

MakeLayer = Callable[..., LayerTrace]


def test_a_reading_averages_the_queries_of_its_mask() -> None:
    batch = NumberTask().sample(12, seed=0)
    trace = index_head(1.0, 3.0).trace(batch.tokens, queries=range(17))
    scores = score(trace)
    mask = torch.tensor(reading_mask("path", 17, 12, batch.paths))
    found = score(trace, reading="path", paths=batch.paths)
    assert found.reading == "path"
    assert float(found.symbolic) == pytest.approx(float(scores.each_symbolic[0, :, 0][mask].nanmean()))
    assert float(found.entropy) == pytest.approx(float(scores.each_entropy[0, :, 0][mask].mean()))
    assert float(scores.read("last").symbolic) == pytest.approx(float(scores.each_symbolic[0, :, 0, -1].mean()))
    assert float(scores.read("all").own) == pytest.approx(float(scores.each_own[..., 2:].mean()))
    assert int(scores.undefined) == 24
    assert int(scores.read("all").undefined) == 0


def test_a_reading_does_not_depend_on_which_other_queries_are_traced() -> None:
    batch = NumberTask().sample(6, seed=0)
    head = index_head(1.0, 3.0)
    few, many = (score(head.trace(batch.tokens, queries=queries), reading="last") for queries in ([-1], range(17)))
    torch.testing.assert_close(few.symbolic, many.symbolic)


def test_intervals_resample_inputs_with_all_their_queries() -> None:
    batch = NumberTask().sample(60, seed=0)
    scores = score(index_head(1.0, 3.0).trace(batch.tokens, queries=range(17)), reading="path", paths=batch.paths)
    for kind, ((estimate,),) in zip((scores.positional, scores.symbolic), estimates(scores), strict=True):
        assert estimate.value == pytest.approx(float(kind))
        assert estimate.low - 1e-12 <= estimate.value <= estimate.high + 1e-12
        assert estimate.n == int(batch.hops.sum())


def test_the_share_of_the_entropy_is_that_of_the_keys_that_each_query_sees(make_layer: MakeLayer) -> None:
    flat = make_layer(size=0.0, queries=(3, -1))
    torch.testing.assert_close(score(Trace((flat,))).entropy_share, torch.ones(1, 2, dtype=torch.float64))
    visible = flat.visible.expand(2, -1, -1).clone()
    visible[1, :, 0] = False  # one key less for the second input
    keys = flat.keys.clone()
    asked = flat.queries.clone()
    keys[..., 1, 0], asked[..., 0] = 3.0, 3.0
    other = replace(flat, keys=keys, queries=asked, visible=visible, query_positions=flat.query_positions.expand(2, -1))
    scores = score(Trace((other,)))
    entropy = scores.each_entropy[0]  # [batch, head, query]
    most = torch.tensor([[4.0, 9.0], [3.0, 8.0]], dtype=torch.float64).log()[:, None]  # visible keys of both inputs
    torch.testing.assert_close(scores.entropy_share[0], (entropy / most).mean((0, 2)))
    assert (scores.entropy_share < 1 - 1e-3).all()


def test_centred_scores_and_the_flat_rest_sum_to_1_and_a_flat_head_reads_0(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(seq=12),)), 0.1)
    parts = torch.stack([scores.centred_positional, scores.centred_symbolic, scores.flat])
    assert parts.min() >= 0
    torch.testing.assert_close(parts.sum(0), torch.ones(1, 2, dtype=torch.float64))
    flat = score(Trace((make_layer(size=0.0),)))
    assert flat.centred_positional.abs().max() < 1e-12
    assert flat.centred_symbolic.abs().max() < 1e-12


def test_joined_inputs_keep_their_reading(make_layer: MakeLayer) -> None:
    parts = [score(Trace((make_layer(batch=2, queries=range(9), seed=seed),)), reading="all") for seed in (0, 1)]
    joined = join_inputs(parts)
    assert joined.inputs == 4
    torch.testing.assert_close(joined.positional, (parts[0].positional + parts[1].positional) / 2)
    alone = join_inputs(parts[:1])
    assert alone.reading == "all"
    torch.testing.assert_close(alone.positional, parts[0].positional)


def test_a_reading_whose_queries_were_not_traced_is_refused(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(),)))
    with pytest.raises(WhatwhereError, match=r"expected a trace of all queries that 'all' reads, got 1 of 9 positions"):
        scores.read("all")


def test_inputs_with_masks_of_their_own_are_scored_one_by_one(make_layer: MakeLayer) -> None:
    layer = make_layer(batch=2, queries=(5, -1))
    visible = layer.visible.expand(2, -1, -1).clone()
    visible[1, :, 0] = False
    mixed = score(Trace((replace(layer, visible=visible, query_positions=layer.query_positions.expand(2, -1)),)))
    whole = score(Trace((layer,)))
    torch.testing.assert_close(mixed.each_positional[:, 0], whole.each_positional[:, 0])
    assert not torch.allclose(mixed.each_positional[:, 1], whole.each_positional[:, 1])
    assert mixed.read("last").positional.shape == (1, 2)


def test_the_bound_of_drawn_swaps_is_hoeffding_s_at_one_in_a_thousand(make_layer: MakeLayer) -> None:
    trace = Trace((make_layer(seq=50, size=0.6),))
    for samples in (100, 2_000):
        bound = score(trace, 0.1, samples=samples).bound
        assert 2 * math.exp(-2 * samples * bound**2) == pytest.approx(1e-3)


def test_scores_are_told_apart_by_what_they_are(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(),)))
    assert scores != replace(scores)
    assert scores.bound == 1e-9 and scores.seq == 9 and scores.reading is None


def test_entropies_and_own_attention_are_means_over_inputs_and_queries(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(queries=(3, -1)),)))
    torch.testing.assert_close(scores.entropy, scores.each_entropy.mean((1, 3)))
    torch.testing.assert_close(scores.own, scores.each_own.mean((1, 3)))
    assert scores.undefined.tolist() == [[0, 0]]
