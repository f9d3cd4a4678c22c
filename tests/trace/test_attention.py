"""The check that each layer passes: its output rebuilt from the trace is its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, SEQ, VOCABULARY, tiny_model
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.trace.attention import TOLERANCE, LayerCall, layer_trace
from whatwhere.trace.rotary import RotaryModel
from whatwhere.trace.rotation import Planes

READ = import_module("whatwhere.trace.rotary")
"""The module; ``whatwhere.trace`` is callable, too."""


def read_changed(change: Callable[[torch.Tensor], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces all queries of a tiny model whose layers return a changed output."""
    layer_trace = READ.layer_trace

    def changed(seen: LayerCall, *rest: Any, **more: Any) -> Any:
        output = seen.output.clone()
        change(output)
        return layer_trace(replace(seen, output=output), *rest, **more)

    monkeypatch.setattr(READ, "layer_trace", changed)
    tokens = torch.randint(3, VOCABULARY, (2, SEQ), generator=torch.Generator().manual_seed(1))
    RotaryModel(tiny_model(FAMILIES["Llama"]), "tiny").trace(tokens, queries=range(SEQ))


@pytest.mark.parametrize("query", [0, 3, 7, 11])
def test_an_output_that_is_another_at_one_of_four_queries_is_noticed(query: int, monkeypatch: pytest.MonkeyPatch):
    def change(output: torch.Tensor) -> None:
        output[:, query] += 1

    with pytest.raises(WhatwhereError, match="tiny cannot be read: in layer 0 the attention rebuilt"):
        read_changed(change, monkeypatch)


def test_an_output_that_is_not_a_number_is_noticed(monkeypatch: pytest.MonkeyPatch):
    def change(output: torch.Tensor) -> None:
        output[:, 3] = torch.nan

    with pytest.raises(WhatwhereError, match="differs from its own by nan"):
        read_changed(change, monkeypatch)


def test_an_output_as_it_is_passes(monkeypatch: pytest.MonkeyPatch):
    read_changed(lambda _: None, monkeypatch)


FREQUENCIES = (1.0, 0.3)
BATCH, HEADS, GROUPS, LENGTH, WIDTH = 2, 4, 2, 5, 6
CAUSAL = np.tri(LENGTH, dtype=bool)


def rotated(x: np.ndarray, factor: float) -> np.ndarray:
    """Planes as complex numbers: coordinates (0, 2) and (1, 3); the last two never turn."""
    turned, place = x.copy(), np.arange(LENGTH)
    for plane, frequency in enumerate(FREQUENCIES):
        z = factor * (x[..., plane] + 1j * x[..., plane + 2]) * np.exp(1j * frequency * place)
        turned[..., plane], turned[..., plane + 2] = z.real, z.imag
    return turned


def by_hand(
    visible: np.ndarray, factor: float = 1.0, cap: float | None = None, sinks: bool = False
) -> tuple[LayerCall, np.ndarray]:
    """A call of a layer, and its attention [batch, head, query, key] by loops over the definition."""
    rng = np.random.default_rng(0)
    queries, keys, values = (rng.normal(size=(BATCH, n, LENGTH, WIDTH)) for n in (HEADS, GROUPS, GROUPS))
    sink = rng.normal(size=HEADS) if sinks else None
    turned_queries, turned_keys = rotated(queries, factor), rotated(keys, factor)
    attention = np.zeros((BATCH, HEADS, LENGTH, LENGTH))
    for b, h, q in np.ndindex(BATCH, HEADS, LENGTH):
        weights = {}
        for k in np.flatnonzero(visible[b % len(visible), q]):
            logit = 0.7 * float(turned_queries[b, h, q] @ turned_keys[b, h // 2, k])
            weights[k] = math.exp(logit if cap is None else cap * math.tanh(logit / cap))
        whole = sum(weights.values()) + (0 if sink is None else math.exp(sink[h]))
        for k, weight in weights.items():
            attention[b, h, q, k] = weight / whole
    output = np.einsum("bhqk,bhkd->bqhd", attention, values.repeat(2, 1))
    seen = LayerCall(
        layer=3,
        queries=torch.from_numpy(turned_queries),
        keys=torch.from_numpy(turned_keys),
        plain_queries=torch.from_numpy(queries),
        plain_keys=torch.from_numpy(keys),
        planes=Planes(torch.arange(WIDTH), 2),
        values=torch.from_numpy(values),
        output=torch.from_numpy(output),
        mask=torch.from_numpy(visible[:, None]),
        causal=False,
        scale=0.7,
        cap=cap,
        sink=None if sink is None else torch.from_numpy(sink),
    )
    return seen, attention


@settings(max_examples=12)
@given(
    hidden=st.lists(st.integers(0, BATCH * LENGTH * LENGTH - 1)),
    each=st.sampled_from([1, BATCH]),
    factor=st.sampled_from([1.0, 1.4, 2.0]),
    cap=st.sampled_from([None, 2.0]),
    sinks=st.booleans(),
    hides=st.sampled_from([None, torch.finfo(torch.float32).min, -math.inf, -1e4]),
    places=st.sampled_from([[0, 4], [2], [[1, 3], [4, 0]], [[2, 4], [2, 4]], list(range(LENGTH))]),
)
def test_the_trace_of_a_layer_has_the_attention_of_the_definition(
    hidden: list[int],
    each: int,
    factor: float,
    cap: float | None,
    sinks: bool,
    hides: float | None,
    places: list[Any],
):
    visible = np.ones((each, LENGTH, LENGTH), dtype=bool)
    visible.flat[[at for at in hidden if at < visible.size]] = False
    visible[:, range(LENGTH), range(LENGTH)] = True
    seen, attention = by_hand(visible, factor, cap, sinks)
    assert seen.mask is not None
    if hides is not None:  # a mask of numbers that are added to logits
        seen = replace(seen, mask=torch.zeros(seen.mask.shape).masked_fill(~seen.mask, hides))
    asked = torch.tensor(places)
    layer, reading = layer_trace(seen, asked, [], "made up")
    at = asked.expand(BATCH, -1).numpy()
    wanted = np.stack([attention[b][:, at[b]] for b in range(BATCH)])
    np.testing.assert_allclose(layer.attention().numpy(), wanted, rtol=0, atol=1e-9)
    assert reading.factor == pytest.approx(factor, abs=1e-9)
    same = asked.ndim == 1 and all(np.array_equal(one[places], visible[0][places]) for one in visible)
    assert layer.uniform is same
    assert layer.query_positions.ndim == layer.visible.ndim - 1


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("places", [[3, 1], [[3, 1], [0, 2]]])
def test_without_a_mask_a_query_sees_what_the_layer_is_said_to_show(causal: bool, places: list[Any]):
    visible = CAUSAL if causal else np.ones_like(CAUSAL)
    seen, _ = by_hand(visible[None])
    layer, _ = layer_trace(replace(seen, mask=None, causal=causal), torch.tensor(places), [], "made up")
    np.testing.assert_array_equal(layer.visible.numpy(), visible[places])


@pytest.mark.parametrize("share", [0.9, 1.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_output_may_differ_by_the_tolerance_times_the_largest_value(share: float, sign: int):
    seen, _ = by_hand(CAUSAL[None])
    allowed = TOLERANCE[torch.float64] + 2e-7 * LENGTH
    output = seen.output.clone()
    output[1, 2, 3, 0] += sign * share * allowed * float(seen.values.abs().max())
    changed = replace(seen, output=output)
    if share > 1:
        with pytest.raises(WhatwhereError, match=r"in layer 3 .* differs from its own by 0.0001 of the largest value"):
            layer_trace(changed, torch.arange(2, 3), [], "made up")
    else:
        _, reading = layer_trace(changed, torch.arange(2, 3), [], "made up")
        assert reading.error == pytest.approx(share * allowed)
        assert reading.angle_error == pytest.approx(5 * allowed)


def test_a_query_that_sees_nothing_is_not_compared():
    visible = np.stack([CAUSAL, CAUSAL])
    visible[1, :2] = False  # padding on the left of the second input
    seen, attention = by_hand(visible)
    seen.output[1, :2] = 99  # whatever a kernel leaves there
    layer, reading = layer_trace(seen, torch.arange(LENGTH), [], "made up")
    assert reading.error < 1e-9
    np.testing.assert_allclose(layer.attention()[1, :, 2:].numpy(), attention[1][:, 2:], rtol=0, atol=1e-9)


def test_a_layer_without_values_has_nothing_to_compare():
    seen, _ = by_hand(CAUSAL[None])
    silent = replace(seen, values=torch.zeros_like(seen.values), output=torch.zeros_like(seen.output))
    assert layer_trace(silent, torch.arange(LENGTH), [], "made up")[1].error == 0


@pytest.mark.parametrize(
    ("dtype", "allowed"), [(torch.float64, 1e-4), (torch.float32, 1e-4), (torch.float16, 1e-2), (torch.bfloat16, 5e-2)]
)
def test_rounded_vectors_may_differ_by_more_and_not_by_twice_as_much(dtype: torch.dtype, allowed: float):
    seen, _ = by_hand(CAUSAL[None])
    vectors = ("queries", "keys", "plain_queries", "plain_keys", "values", "output")
    seen = replace(seen, **{name: getattr(seen, name).to(dtype) for name in vectors})
    assert layer_trace(seen, torch.arange(LENGTH), [], "made up")[1].error < allowed
    seen.output[1, 2, 3, 0] += 2 * allowed * seen.values.abs().max()
    with pytest.raises(WhatwhereError, match="differs from its own"):
        layer_trace(seen, torch.arange(2, 3), [], "made up")


def test_a_call_is_shown_without_its_tensors_and_told_apart_by_what_it_is():
    seen, _ = by_hand(CAUSAL[None])
    assert "tensor" not in repr(seen)
    assert seen != replace(seen)
    assert replace(seen, cap=None, sink=None).sink is None


def test_the_reading_tells_layout_place_and_factor_of_what_turns():
    seen, _ = by_hand(CAUSAL[None], factor=1.4)
    layer, reading = layer_trace(seen, torch.arange(LENGTH), [], "made up")
    assert (reading.layout, reading.first) == ("half", 0)
    assert layer.layer == 3 and layer.scale == 0.7
    torch.testing.assert_close(layer.rotation.frequencies, torch.tensor(FREQUENCIES, dtype=torch.float64))
    torch.testing.assert_close(layer.keys[:, ::2, :, :4], seen.plain_keys[..., :4] * 1.4)
    torch.testing.assert_close(layer.keys[:, 1::2, :, 4:], seen.plain_keys[..., 4:])


def test_vectors_that_do_not_turn_by_their_position_are_named_with_their_layer():
    seen, _ = by_hand(CAUSAL[None])
    wrong = replace(seen, queries=seen.queries.roll(1, 2))
    with pytest.raises(WhatwhereError, match="made up cannot be read: in layer 3 its turned vectors are not"):
        layer_trace(wrong, torch.arange(LENGTH), [], "made up")


@pytest.mark.parametrize("wrong", [0, 2, 3, 4])
def test_of_many_queries_four_are_compared_the_first_and_the_last_among_them(wrong: int):
    seen, _ = by_hand(CAUSAL[None])
    seen.output[0, wrong] += 1
    compared = torch.linspace(0, 4, 4).long().tolist()
    if wrong in compared:
        with pytest.raises(WhatwhereError, match="differs from its own"):
            layer_trace(seen, torch.arange(LENGTH), [], "made up")
    else:
        layer_trace(seen, torch.arange(LENGTH), [], "made up")
