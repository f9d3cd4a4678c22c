"""Each family as a tiny random model: attention and scores against what the model itself reports."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import FAMILIES, SEQ, VOCABULARY, Family, check_family, own_attention, tiny_model
from family_table import REFUSED

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import label_of
from whatwhere.heads.scores import score
from whatwhere.model.rope import rope_frequencies
from whatwhere.trace.interventions import Ablate, ClosePlanes
from whatwhere.trace.rotary import RotaryModel
from whatwhere.trace.traceable import trace

TOKENS = torch.randint(3, VOCABULARY, (2, SEQ), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", FAMILIES)
def test_attention_and_scores_of_each_family_are_the_models_own(name: str):
    found = check_family(FAMILIES[name])
    assert found.attention_error < 1e-5
    assert found.score_error < 1e-6


def test_the_families_have_the_features_that_the_table_names():
    def layers(name: str):
        return trace(tiny_model(FAMILIES[name]), TOKENS).layers

    assert layers("Gemma 2")[0].cap == 2.0
    assert layers("Gemma 2")[0].visible.sum() == 5
    assert layers("Gemma 2")[1].visible.sum() == SEQ
    sink = layers("GPT-OSS")[0].sink
    assert sink is not None and float(sink.abs().max()) > 0.1
    local, broad = layers("Gemma 3")
    assert not torch.allclose(local.rotation.frequencies, broad.rotation.frequencies)
    assert layers("Phi")[0].rotation.width == 4  # of 8
    assert layers("GPT-NeoX, Pythia")[0].rotation.width == 2
    turning, still = layers("SmolLM3")
    assert (turning.rotation.width, still.rotation.width) == (8, 0)
    assert float(layers("Llama, linear scaling")[0].rotation.frequencies[0]) == 0.5
    assert [layer.layer for layer in layers("Qwen3-Next")] == [0, 2]
    local, broad = layers("Gemma 4")
    assert (local.keys.shape[-1], broad.keys.shape[-1], local.scale) == (16, 32, 1.0)
    assert (local.rotation.frequencies > 0).all() and float(broad.rotation.frequencies[-1]) == 0.0
    turning, still = layers("Llama 4")
    assert (turning.rotation.width, still.rotation.width) == (8, 0)
    assert layers("DeepSeek-V2")[0].rotation.width == 8  # of 16
    assert layers("DeepSeek-V3, YaRN")[0].scale > 16**-0.5
    assert layers("Granite")[0].scale == 0.2


@pytest.mark.parametrize("name", REFUSED)
def test_a_family_that_cannot_be_read_is_refused_with_the_reason(name: str):
    family, reason = REFUSED[name]
    with pytest.raises(WhatwhereError, match=rf"cannot be read: .*{reason}"):
        trace(tiny_model(family), TOKENS)


def test_a_layer_that_does_not_attend_is_refused_by_number():
    model = tiny_model(FAMILIES["LFM2"])
    asked: Any
    changed = {"interventions": [Ablate(1, 0)]}, {"interventions": [ClosePlanes((1,), layers=(1,))]}
    for asked in ({"layers": [1]}, *changed):
        with pytest.raises(WhatwhereError, match=r"expected a layer of .* that attends \(0, 2\), got 1"):
            trace(model, TOKENS, **asked)
    closed = trace(model, TOKENS, interventions=[ClosePlanes((1,))])  # in all layers that have planes
    assert [layer.layer for layer in closed.layers] == [0, 2]
    assert not torch.equal(closed.attention(), trace(model, TOKENS).attention())


@pytest.mark.parametrize(("name", "layout"), [("Llama", "half"), ("Cohere", "interleaved"), ("GLM", "interleaved")])
def test_the_layout_is_found_in_the_vectors(name: str, layout: str):
    model = RotaryModel(tiny_model(FAMILIES[name]))
    model.trace(TOKENS)
    assert [planes.layout for planes in model._planes.values()] == [layout, layout]


def test_plain_frequencies_are_the_papers():
    layer = trace(tiny_model(FAMILIES["Llama"]), TOKENS).layers[0]
    torch.testing.assert_close(layer.rotation.frequencies, rope_frequencies(8, 10000.0), rtol=1e-6, atol=0)


def test_dynamic_frequencies_follow_the_length():
    model = tiny_model(FAMILIES["Llama, dynamic scaling"])
    short, long = (trace(model, TOKENS[:, :n]).layers[0].rotation.frequencies for n in (6, SEQ))
    torch.testing.assert_close(short, rope_frequencies(8, 10000.0), rtol=1e-6, atol=0)
    assert float(long[-1]) < 0.9 * float(short[-1])


@pytest.mark.parametrize("name", ["Llama", "Gemma 3", "GPT-OSS", "GPT-NeoX, Pythia"])
def test_bfloat16_models_are_read_within_their_own_rounding(name: str):
    model = tiny_model(FAMILIES[name], dtype=torch.bfloat16)
    found = trace(model, TOKENS, queries=range(SEQ))
    for layer, own in zip(found.layers, own_attention(model, TOKENS), strict=True):
        assert layer.keys.dtype == torch.float32
        assert float((layer.attention() - own.float()).abs().max()) < 0.05
    exact = trace(tiny_model(FAMILIES[name]), TOKENS).layers[0].rotation.frequencies
    torch.testing.assert_close(found.layers[0].rotation.frequencies, exact, rtol=5e-3, atol=0)


@pytest.mark.parametrize("name", ["Llama", "Mistral", "Qwen3"])
def test_the_kernel_that_runs_makes_no_difference(name: str):
    eager, fused = (trace(tiny_model(FAMILIES[name], attention=kind), TOKENS).attention() for kind in ("eager", "sdpa"))
    torch.testing.assert_close(eager, fused, rtol=0, atol=1e-6)


def test_a_layer_without_rotation_is_symbolic_by_construction():
    scores = score(trace(tiny_model(FAMILIES["SmolLM3"]), TOKENS, layers=[1], queries=range(4, SEQ)))
    torch.testing.assert_close(scores.symbolic, torch.ones_like(scores.symbolic), rtol=0, atol=1e-9)
    assert label_of(float(scores.positional[0, 0]), float(scores.symbolic[0, 0])) in ("symbolic", "mixed", "uniform")


def test_a_family_that_turns_nothing_but_looks_rotary_has_no_planes():
    silent = Family("smollm3", "", {"no_rope_layers": [0, 0]})
    assert all(layer.rotation.width == 0 for layer in trace(tiny_model(silent), TOKENS).layers)
