from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import whatwhere.heads.levels
from whatwhere.errors import WhatwhereError
from whatwhere.heads.levels import score_model, score_model_weightings
from whatwhere.heads.scores import score
from whatwhere.heads.weighting import TAUS, band
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.trace.layer import Trace
from whatwhere.trace.traceable import trace
from whatwhere.training.run import Run

BruteForce = Callable[..., tuple[float, float]]


def tokens(count: int) -> np.ndarray:
    return NumberTask().sample(count, seed=1).tokens


def test_a_model_is_scored_as_its_trace_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    model = run.load(10)
    whole = score(trace(model, tokens(7)))
    monkeypatch.setattr(whatwhere.heads.levels, "TOKENS_AT_ONCE", 3 * 17)
    parts = score_model(model, tokens(7))
    assert parts.inputs == 7
    for name in ("each_positional", "each_symbolic", "each_entropy", "each_own"):
        torch.testing.assert_close(getattr(parts, name), getattr(whole, name), rtol=0, atol=1e-5)
        assert not getattr(parts, name).requires_grad


def test_inputs_longer_than_a_block_are_traced_one_by_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def counted(model: object, some: torch.Tensor, **options: object) -> Trace:
        sizes.append(len(some))
        return trace(model, some, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(whatwhere.heads.levels, "trace", counted)
    monkeypatch.setattr(whatwhere.heads.levels, "TOKENS_AT_ONCE", 16)
    assert score_model(run.load(0), tokens(3)).inputs == 3
    assert sizes == [1, 1, 1]


def test_the_number_of_cores_changes_nothing_and_is_left_as_it_was(run: Run) -> None:
    model, before = run.load(10), torch.get_num_threads()
    try:
        found = []
        for cores in (1, 3):
            torch.set_num_threads(cores)
            found.append(score_model(model, tokens(200)).each_positional)
            assert torch.get_num_threads() == cores
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


@pytest.mark.slow
def test_our_models_agree_with_brute_force(run: Run, brute_force: BruteForce) -> None:
    with torch.no_grad():
        traced = trace(run.load(10), tokens(2))
    scores = score(traced)
    for layer in traced.layers:
        found = float(scores.each_positional[layer.layer, 1, 0, 0]), float(scores.each_symbolic[layer.layer, 1, 0, 0])
        assert found == pytest.approx(brute_force(layer, 1, 0, 0, 1e-4), abs=1e-6)


@pytest.mark.parametrize("beta", [1.0, 18.0, 100.0])
@pytest.mark.slow
def test_hand_built_heads_agree_with_brute_force(brute_force: BruteForce, beta: float) -> None:
    for head, task in (
        (index_head(1.0, beta), NumberTask()),
        (retrieval_head(0.0115, beta), LetterTask()),
    ):
        inputs = task.sample(2, seed=0).tokens
        scores = score_model(head, inputs)
        found = float(scores.each_positional[0, 0, 0, 0]), float(scores.each_symbolic[0, 0, 0, 0])
        assert found == pytest.approx(brute_force(head.trace(inputs).layers[0], 0, 0, 0, 1e-4), abs=1e-6)


@pytest.mark.parametrize("renormalised", [False, True])
@pytest.mark.slow
def test_swapping_tokens_is_swapping_keys_at_layer_0_and_not_deeper(run: Run, renormalised: bool) -> None:
    model = run.load(10)
    keys, swapped = (
        score_model(model, tokens(3), 0.1, level=level, renormalised=renormalised) for level in ("keys", "tokens")
    )
    assert (keys.level, swapped.level) == ("keys", "tokens")
    torch.testing.assert_close(swapped.each_positional[0], keys.each_positional[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(swapped.each_symbolic[0], keys.each_symbolic[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(swapped.each_entropy, keys.each_entropy, rtol=0, atol=1e-5)
    assert (swapped.each_positional[1] - keys.each_positional[1]).abs().max() > 1e-3


@pytest.mark.slow
def test_swapping_tokens_is_exact_for_a_head_in_float64() -> None:
    head, inputs = index_head(1.0, 5.0), tokens(3)
    keys, swapped = score_model(head, inputs), score_model(head, inputs, level="tokens")
    torch.testing.assert_close(swapped.each_symbolic, keys.each_symbolic, rtol=0, atol=1e-12)


def test_inputs_of_two_tokens_have_no_two_tokens_to_swap(run: Run) -> None:
    scores = score_model(run.load(0), tokens(3)[:, :2], level="tokens")
    assert scores.each_positional.shape == (2, 3, 1, 1)
    assert scores.each_positional.isnan().all()


def test_only_the_layers_asked_for_are_scored(run: Run) -> None:
    some = score_model(run.load(5), tokens(2), layers=[1])
    assert some.layers == (1,)
    torch.testing.assert_close(some.positional[0], score_model(run.load(5), tokens(2)).positional[1])


def test_what_cannot_be_scored_is_refused(run: Run) -> None:
    model = run.load(0)
    with pytest.raises(WhatwhereError, match=r"expected tokens .* of at least one input"):
        score_model(model, np.empty((0, 17), int))
    with pytest.raises(WhatwhereError, match=r"expected tokens .* of at least one input"):
        score_model(model, np.zeros(17, int))
    with pytest.raises(WhatwhereError, match="expected level 'keys' or 'tokens', got 'words'"):
        score_model(model, tokens(1), level="words")
    with pytest.raises(WhatwhereError, match="expected a tau above 0"):
        score_model(model, tokens(1), 0.0, level="tokens")
    with pytest.raises(WhatwhereError, match="expected the last query alone for level 'tokens'"):
        score_model(model, tokens(1), level="tokens", queries=[3, -1])


def test_the_band_of_tau_and_all_queries_are_each_as_alone(run: Run) -> None:
    model = run.load(10)
    found = score_model_weightings(model, tokens(4), band(), queries=range(17))
    assert [scores.tau for scores in found] == list(TAUS)
    for scores in found:
        alone = score_model(model, tokens(4), scores.tau)
        torch.testing.assert_close(scores.read("last").symbolic, alone.symbolic, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_swapping_tokens_at_some_places_is_swapping_keys_there(run: Run) -> None:
    model, places = run.load(10), [2, 5, 7, 9]
    keys, swapped, all_places = (
        score_model(model, tokens(3), 0.1, level=level, among=among)
        for level, among in (("keys", places), ("tokens", places), ("tokens", None))
    )
    torch.testing.assert_close(swapped.each_positional[0], keys.each_positional[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(swapped.each_symbolic[0], keys.each_symbolic[0], rtol=0, atol=1e-5)
    assert (swapped.each_positional - all_places.each_positional).abs().max() > 1e-3


def test_the_last_query_may_be_named_for_swaps_of_tokens() -> None:
    head, inputs = index_head(1.0, 5.0), tokens(2)[:, -5:]
    named, plain = (score_model(head, inputs, level="tokens", queries=queries) for queries in ([-1], None))
    torch.testing.assert_close(named.each_symbolic, plain.each_symbolic, rtol=0, atol=0)
    assert (plain.tau, plain.level, plain.weighting.renormalised) == (1e-4, "tokens", False)


def test_few_tokens_swapped_one_pair_at_a_time_are_scored_as_keys_are() -> None:
    head, inputs = index_head(1.0, 5.0), tokens(3)[:, -6:]
    keys, swapped = (score_model(head, inputs, 0.1, level=level) for level in ("keys", "tokens"))
    for name in ("each_positional", "each_symbolic", "each_entropy", "each_own"):
        torch.testing.assert_close(getattr(swapped, name), getattr(keys, name), rtol=0, atol=1e-12)
