from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.heads.scores import score_part
from whatwhere.heads.swaps import ShortInputs, all_swaps, factors, mean_of, swap_cosines, weighted_means
from whatwhere.heads.weighting import Weighting
from whatwhere.model.kernel.build import kernels
from whatwhere.trace.layer import LayerTrace

logits = st.floats(-1e6, 1e6)
needs_compiler = pytest.mark.skipif(kernels().library is None, reason=f"no compiled kernels: {kernels().missing}")


def cosines(d: float, after: float) -> tuple[float, float]:
    positional, symbolic = swap_cosines(torch.tensor(d, dtype=torch.float64), torch.tensor(after, dtype=torch.float64))
    return float(positional), float(symbolic)


def sech(x: float) -> float:
    return float(1 / torch.tensor(x, dtype=torch.float64).clamp(-700, 700).cosh())


@pytest.mark.parametrize(
    ("d", "after", "expected"),
    [
        (0, 0, (1, 1)),
        (3, 3, (1, 0.0993)),
        (3, -3, (0.0993, 1)),
        (1e5, 3, (0.99876, 0.04973)),
        (-1e5, 1e5, (0, 1)),
    ],
)
def test_published_vectors_are_met(d: float, after: float, expected: tuple[float, float]) -> None:
    assert cosines(d, after) == pytest.approx(expected, abs=5e-5)


@given(logits, logits)
def test_the_exclusion_principle_is_an_identity(d: float, after: float) -> None:
    positional, symbolic = cosines(d, after)
    assert positional**2 + symbolic**2 == pytest.approx(1 + sech(d) * sech(after), abs=1e-14)


@given(st.floats(-300, 300), st.floats(-300, 300))
def test_the_tanh_form_equals_the_cosh_form(d: float, after: float) -> None:
    a, b = torch.tensor([d, after], dtype=torch.float64)
    norm = (a.cosh() * b.cosh()).sqrt()
    expected = float(((a + b) / 2).cosh() / norm), float(((b - a) / 2).cosh() / norm)
    assert cosines(d, after) == pytest.approx(expected, abs=1e-13)


@given(logits)
def test_a_swap_that_changes_nothing_is_positional_and_one_that_carries_attention_along_symbolic(d: float) -> None:
    assert cosines(d, d) == pytest.approx((1, sech(d)), abs=1e-14)
    assert cosines(d, -d) == pytest.approx((sech(d), 1), abs=1e-14)


def test_every_swap_of_two_counted_keys_is_listed_once() -> None:
    counted = torch.tensor([[True, False, True, False], [True, True, False, True], [False, False, False, True]])
    swaps = all_swaps(counted)
    found = [
        (int(swaps.query[first]), int(swaps.key[first]), int(swaps.key[second]))
        for first, second in zip(swaps.first, swaps.second, strict=True)
    ]
    assert found == [(0, 0, 2), (1, 0, 1), (1, 0, 3), (1, 1, 3)]


def test_means_weigh_each_swap_by_the_attention_that_it_moves() -> None:
    generator = torch.Generator().manual_seed(0)
    counted = torch.tensor([[True, True, False, False], [True, True, True, True], [True, False, False, False]])
    swaps = all_swaps(counted)
    attention, others = torch.rand(2, 2, 3, 4, generator=generator, dtype=torch.float64)  # [row, query, key]
    before, after = torch.randn(2, len(swaps.first), 2, generator=generator, dtype=torch.float64)
    shared = factors(attention, 0.5, counted)  # two temperatures of one attention, then another attention
    weightings = [shared, shared._replace(tau=0.1), factors(others, 0.1, counted)]
    means = weighted_means(before, after, swaps, weightings)
    assert means.shape == (3, 2, 2, 3)
    both = torch.stack(swap_cosines(before, after))  # [2, swap, row]
    for number, (mass, tau) in enumerate(((attention, 0.5), (attention, 0.1), (others, 0.1))):
        for row in range(2):
            for query in range(2):
                listed = [n for n, first in enumerate(swaps.first) if swaps.query[first] == query]
                moved = [
                    abs(mass[row, query, swaps.key[swaps.first[n]]] - mass[row, query, swaps.key[swaps.second[n]]])
                    for n in listed
                ]
                weights = (torch.stack(moved) / tau).softmax(0)
                torch.testing.assert_close(means[number, :, row, query], both[:, listed, row] @ weights)
    assert means[..., 2].isnan().all()  # a single key has no swap


def test_a_mean_without_weights_is_undefined() -> None:
    sums = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    torch.testing.assert_close(mean_of(sums), torch.tensor([[0.5, torch.nan], [0.25, torch.nan]]), equal_nan=True)


@pytest.mark.parametrize(("rotated", "layout"), [(8, "half"), (4, "interleaved"), (0, "half")])
def test_short_inputs_are_scored_as_the_definition_says(
    make_layer: Callable[..., LayerTrace], brute_force: Callable[..., tuple[float, float]], rotated: int, layout: str
) -> None:
    layer = make_layer(seq=6, queries=(3, 5), rotated=rotated, layout=layout, size=1.2)
    layer = replace(layer, scale=0.7)
    counted = Weighting().counted(layer)
    logits = layer.logits()
    weights = factors(logits.softmax(-1).flatten(0, 1), 0.1, counted)
    scores = ShortInputs(layer, counted).scores(layer, logits.flatten(0, 1), [weights])[0]  # [2, row, query]
    for input, head, query in ((0, 0, 0), (0, 1, 1), (1, 0, 1)):
        found = scores[:, 2 * input + head, query].tolist()
        assert found == pytest.approx(brute_force(layer, input, head, query, 0.1), abs=1e-12)


def by_torch(layer: LayerTrace, weightings: list[Weighting]) -> torch.Tensor:
    counted = torch.stack([weighting.counted(layer) for weighting in weightings]).any(0)
    return score_part(layer, weightings, ShortInputs(layer, counted).scores)


def compiled(layer: LayerTrace, weightings: list[Weighting]) -> torch.Tensor | None:
    return ShortInputs(layer, Weighting().counted(layer)).compiled(layer, weightings)


@needs_compiler
@pytest.mark.parametrize("size", [0.1, 1.2, 30.0])
@pytest.mark.parametrize(("rotated", "layout"), [(8, "half"), (4, "interleaved"), (0, "half")])
def test_compiled_and_plain_scores_are_equal(
    make_layer: Callable[..., LayerTrace], rotated: int, layout: str, size: float
) -> None:
    layer = replace(make_layer(seq=11, queries=(1, 2, 7, 10), rotated=rotated, layout=layout, size=size), scale=0.4)
    kinds = product((1e-4, 0.1, 10.0), (False, True), (None, (0, 3, 4, 9)))
    weightings = [Weighting(tau, renormalised, among) for tau, renormalised, among in kinds]
    found, plain = compiled(layer, weightings), by_torch(layer, weightings)
    assert found is not None
    assert plain.isnan().any() and not plain[0, ..., 1:].isnan().any()
    sharp = torch.tensor([weighting.tau < 0.1 for weighting in weightings])  # their weights amplify rounding by 1 / tau
    torch.testing.assert_close(found[~sharp], plain[~sharp], rtol=0, atol=1e-13, equal_nan=True)
    torch.testing.assert_close(found[sharp], plain[sharp], rtol=0, atol=1e-11, equal_nan=True)


@needs_compiler
def test_neighbouring_weightings_share_exponents_only_if_they_differ_in_tau_alone(
    make_layer: Callable[..., LayerTrace],
) -> None:
    layer = make_layer(seq=9, queries=(4, 8))
    weightings = [Weighting(0.1), Weighting(0.1, True), Weighting(0.2, True), Weighting(0.2, True, (0, 1, 2, 3))]
    found = compiled(layer, weightings)
    assert found is not None
    for number, weighting in enumerate(weightings):
        alone = compiled(layer, [weighting])
        assert alone is not None
        torch.testing.assert_close(found[number], alone[0], rtol=0, atol=1e-13)


@needs_compiler
def test_a_query_that_sees_nothing_is_undefined(make_layer: Callable[..., LayerTrace]) -> None:
    layer = make_layer(seq=5, queries=(2, 4))
    layer = replace(layer, visible=layer.visible & torch.tensor([[False], [True]]))
    found = compiled(layer, [Weighting()])
    assert found is not None
    torch.testing.assert_close(found, by_torch(layer, [Weighting()]), rtol=0, atol=1e-11, equal_nan=True)
    assert found[..., 0].isnan().all() and not found[..., 1].isnan().any()


@needs_compiler
def test_compiled_scores_take_any_precision_and_any_layout_in_memory(make_layer: Callable[..., LayerTrace]) -> None:
    layer = make_layer(seq=9, queries=(4, 8))
    exact, rotation = compiled(layer, [Weighting(0.1)]), layer.rotation
    single = replace(rotation, frequencies=rotation.frequencies.float())
    rounded = replace(layer, rotation=single, queries=layer.queries.float(), keys=layer.keys.float())
    torch.testing.assert_close(compiled(rounded, [Weighting(0.1)]), exact, rtol=0, atol=1e-5)
    apart = {name: getattr(layer, name).mT.contiguous().mT for name in ("keys", "queries", "visible")}
    torch.testing.assert_close(compiled(replace(layer, **apart), [Weighting(0.1)]), exact, rtol=0, atol=1e-13)


@needs_compiler
@pytest.mark.parametrize("bad", [torch.nan, -torch.nan, torch.inf])
def test_queries_that_see_an_undefined_key_have_no_score_and_others_have_theirs(
    make_layer: Callable[..., LayerTrace], bad: float
) -> None:
    layer = make_layer(seq=6, queries=(2, 3, 5), rotated=0)
    layer.keys[0, 0, 3] = bad * layer.queries[0, 0, 0].sign()  # an infinite logit, or none, at one key of one row
    scores, (_, heads, *_) = compiled(layer, [Weighting(0.1)]), layer.keys.shape
    assert scores is not None
    assert not scores[:, :, 1:].isnan().any() and not scores[:, :, 0, 1:heads].isnan().any()
    assert not scores[0, :, 0, 0, 0].isnan().any()
    seen = layer.attention()[0, 0].isnan().any(-1)  # [query]
    assert seen[1] or seen[2]
    assert scores[0, :, 0, 0, seen].isnan().all()


@needs_compiler
def test_what_the_compiled_scores_cannot_do_takes_the_plain_path(make_layer: Callable[..., LayerTrace]) -> None:
    layer = make_layer()
    assert compiled(layer, [Weighting()]) is not None
    assert compiled(replace(layer, cap=5.0), [Weighting()]) is None
    assert compiled(replace(layer, sink=torch.zeros(layer.keys.shape[1])), [Weighting()]) is None
    assert compiled(replace(layer, keys=layer.keys.clone().requires_grad_()), [Weighting()]) is None
    assert compiled(replace(layer, queries=layer.queries.clone().requires_grad_()), [Weighting()]) is None
    assert compiled(make_layer(seq=40), [Weighting()]) is not None
    assert compiled(make_layer(seq=41), [Weighting()]) is None
    assert compiled(make_layer(width=514), [Weighting()]) is None


def test_short_inputs_fit_layers_with_the_same_queries_keys_and_frequencies(
    make_layer: Callable[..., LayerTrace],
) -> None:
    layer = make_layer(queries=(4, -1))
    counted = Weighting().counted(layer)
    short = ShortInputs(layer, counted)
    assert short.fits(make_layer(queries=(4, -1), seed=1), counted)
    assert not short.fits(make_layer(queries=(5, -1)), counted)
    assert not short.fits(layer, Weighting(among=(1, 2, 3)).counted(layer))
    assert not short.fits(make_layer(queries=(4, -1), rotated=4), counted)


def test_attention_and_entropy_of_the_compiled_scores_are_those_of_the_layer(
    make_layer: Callable[..., LayerTrace],
) -> None:
    layer = make_layer(seq=7, queries=(3, 6))
    found = score_part(layer, [Weighting(0.1)], ShortInputs(layer, Weighting().counted(layer)).scores)
    attention = layer.attention()
    torch.testing.assert_close(found[0, 3, :, :, 0], attention[:, :, 0, 3])
    torch.testing.assert_close(found[0, 3, :, :, 1], attention[:, :, 1, 6])
    seen = attention[:, :, 1]
    torch.testing.assert_close(found[0, 2, :, :, 1], -(seen * seen.log()).sum(-1))
