"""``whatwhere.trace`` on other people's models: padding, streaming, and everything that is refused."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, Family, own_attention, tiny_model
from torch import Tensor

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.heads.frequency import frequency_use
from whatwhere.heads.levels import score_model
from whatwhere.model.gptj import GPTJ
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.own import OwnModel
from whatwhere.trace.rotary import NOT_ROTARY, RotaryModel
from whatwhere.trace.traceable import weights_fingerprint

IDS = torch.randint(3, 50, (3, 10), generator=torch.Generator().manual_seed(2))


@pytest.fixture(scope="module")
def llama() -> Any:
    return tiny_model(FAMILIES["Llama"])


def definition(layer: LayerTrace, input: int, head: int, tau: float) -> tuple[float, float]:
    """The scores of the first query, word for word, with attention recomputed for every swap."""
    exact = layer.double()

    def attention(keys: Tensor) -> Tensor:
        return replace(exact, keys=keys).attention()[input, head, 0]

    visible, places = (x if layer.uniform else x[input] for x in (layer.visible, layer.query_positions))
    others = [p for p in range(exact.keys.shape[2]) if visible[0, p] and p != int(places[0])]
    before = attention(exact.keys)
    moved, positional, symbolic = [], [], []
    for i in others:
        for j in others:
            if i < j:
                swapped = exact.keys.clone()
                swapped[:, :, [i, j]] = exact.keys[:, :, [j, i]]
                after = attention(swapped)
                moved.append((before[i] - before[j]).abs() / tau)
                positional.append(torch.cosine_similarity(after[[i, j]], before[[i, j]], 0, eps=0))
                symbolic.append(torch.cosine_similarity(after[[i, j]], before[[j, i]], 0, eps=0))
    weights = torch.stack(moved).softmax(0)
    return float(weights @ torch.stack(positional)), float(weights @ torch.stack(symbolic))


@pytest.mark.parametrize("name", ["Llama", "Gemma 2", "GPT-OSS", "GLM", "Llama, YaRN"])
def test_deeper_scores_are_the_definition_with_caps_sinks_windows_and_padding(name: str):
    padding = torch.ones_like(IDS)
    padding[1, :3] = 0
    found = ww.trace(tiny_model(FAMILIES[name]), IDS, layers=[1], attention_mask=padding)
    assert not found.layers[0].uniform
    scores = ww.score(found)
    for input in (0, 1):
        for head in (0, 3):
            positional, symbolic = definition(found.layers[0], input, head, scores.tau)
            assert float(scores.each_positional[0, input, head, 0]) == pytest.approx(positional, abs=1e-6)
            assert float(scores.each_symbolic[0, input, head, 0]) == pytest.approx(symbolic, abs=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(llama: Any, side: str):
    alone = ww.score(ww.trace(llama, IDS[:1, :6]))
    ids, mask = torch.zeros(2, 10, dtype=torch.long), torch.zeros(2, 10, dtype=torch.long)
    real = slice(4, None) if side == "left" else slice(6)
    ids[0], mask[0] = IDS[1], 1
    ids[1, real], mask[1, real] = IDS[0, :6], 1
    found = ww.trace(llama, {"input_ids": ids, "attention_mask": mask})
    assert found.layers[0].query_positions[:, 0].tolist() == [9, 9 if side == "left" else 5]
    scores = ww.score(found)
    for name in ("each_positional", "each_symbolic", "each_entropy", "each_own"):
        together, single = getattr(scores, name)[:, 1], getattr(alone, name)[:, 0]
        torch.testing.assert_close(together, single, rtol=0, atol=2e-5)
    assert scores.visible[:, 1].tolist() == [[6], [6]]
    torch.testing.assert_close(scores.entropy_share[0], scores.entropy_share[0].clamp(0, 1))
    use = frequency_use(found).each[:, 1]
    assert use == pytest.approx(frequency_use(ww.trace(llama, IDS[:1, :6])).each[:, 0], abs=1e-4)


def test_attention_of_a_padded_batch_is_the_models_own(llama: Any):
    mask = torch.ones_like(IDS)
    mask[2, 7:] = 0
    found = ww.trace(llama, IDS, queries=[-1, -2], attention_mask=mask)
    own = own_attention(llama, IDS, mask)
    for layer, theirs in zip(found.layers, own, strict=True):
        torch.testing.assert_close(layer.attention()[2], theirs[2][:, [6, 5]], rtol=0, atol=1e-6)
        torch.testing.assert_close(layer.attention()[0], theirs[0][:, [9, 8]], rtol=0, atol=1e-6)


def test_layers_pass_one_by_one_in_one_pass_that_ends_with_the_last_one_asked_for(llama: Any):
    model = RotaryModel(llama)
    passed, finished = [], []
    hook = llama.lm_head.register_forward_hook(lambda *_: finished.append(True))
    try:
        kept = model.stream(IDS, lambda layer: passed.append(layer.layer) or layer.layer, layers=[0])
        assert (kept, passed, finished) == ([0], [0], [])
        assert model.stream(IDS, lambda layer: layer.layer, layers=[1, 0]) == [1, 0]
    finally:
        hook.remove()
    assert set(model.measurements) == {0, 1} and max(reading.error for reading in model.measurements.values()) < 1e-5


def test_nothing_is_left_behind(llama: Any):
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    before = dict(ALL_ATTENTION_FUNCTIONS)
    llama.train()
    ww.trace(llama, IDS)
    assert llama.training
    llama.eval()
    with pytest.raises(RuntimeError, match="mine"):
        RotaryModel(llama).stream(IDS, _raise)
    assert dict(ALL_ATTENTION_FUNCTIONS) == before
    assert "eager" not in ALL_ATTENTION_FUNCTIONS
    assert not any(module._forward_pre_hooks for module in llama.modules())


def test_an_attention_function_of_the_users_own_stays_in_its_place():
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as functions

    def own(*given: Any, **named: Any) -> Any:
        return theirs(*given, **named)

    theirs = functions["sdpa"]
    functions["sdpa"] = own
    try:
        ww.trace(tiny_model(FAMILIES["Llama"], attention="sdpa"), IDS)
        assert functions["sdpa"] is own
    finally:
        del functions["sdpa"]
    assert functions["sdpa"] is theirs


def _raise(layer: LayerTrace) -> None:
    raise RuntimeError(f"mine, in layer {layer.layer}")


def test_scoring_many_inputs_on_several_cores_reads_one_model_at_a_time(llama: Any):
    ids = IDS.repeat(40, 2)
    together = score_model(llama, ids)
    alone = ww.score(ww.trace(llama, ids[:3]))
    torch.testing.assert_close(together.each_positional[:, :3], alone.each_positional, rtol=0, atol=2e-5)


def test_our_own_models_are_traced_as_before():
    model = ww.load("number")
    assert isinstance(model, GPTJ)
    tokens = ww.NumberTask().sample(2, hops=1, seed=0).tokens
    found = ww.trace(model, tokens, layers=[0])
    torch.testing.assert_close(found.attention()[0], OwnModel(model).trace(tokens).attention()[0])
    with pytest.raises(WhatwhereError, match="only transformers models take one"):
        ww.trace(model, tokens, attention_mask=torch.ones(2, 17))


def test_our_gptj_and_its_export_give_the_same_scores():
    pytest.importorskip("transformers", reason="the export needs the extra hf; run with it installed")
    model = ww.load("number")
    assert isinstance(model, GPTJ)
    tokens = ww.NumberTask().sample(2, hops=2, seed=0).tokens
    ours, theirs = (ww.score(ww.trace(source, tokens), tau=0.1) for source in (model, model.to_hf()))
    torch.testing.assert_close(ours.positional, theirs.positional, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "mpt"])
def test_families_without_rotation_are_refused_by_name(kind: str):
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes: dict[str, dict[str, Any]] = {
        "gpt2": {"n_embd": 32, "n_layer": 1, "n_head": 2},
        "bloom": {"hidden_size": 32, "n_layer": 1, "n_head": 2},
        "mpt": {"d_model": 32, "n_layers": 1, "n_heads": 2},
    }
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, vocab_size=50, **sizes[kind]))
    with pytest.raises(WhatwhereError, match=rf"{type(model).__name__} \(.*\) cannot be read: it has no rotary"):
        ww.trace(model, IDS)
    assert kind in NOT_ROTARY


def test_an_unknown_family_without_rotation_is_refused_for_what_it_lacks(monkeypatch: pytest.MonkeyPatch):
    from transformers import AutoConfig, AutoModelForCausalLM

    monkeypatch.delitem(NOT_ROTARY, "gpt2")
    config = AutoConfig.for_model("gpt2", vocab_size=50, n_embd=32, n_layer=1, n_head=2)
    with pytest.raises(WhatwhereError, match="receives no rotary positions"):
        ww.trace(AutoModelForCausalLM.from_config(config), IDS)


def test_a_family_that_goes_another_way_is_refused():
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        "falcon", vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, alibi=False
    )
    with pytest.raises(WhatwhereError, match=r"FalconForCausalLM cannot be read: nothing was seen of .* layer 0"):
        ww.trace(AutoModelForCausalLM.from_config(config), IDS)


def _spoil(change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], monkeypatch: Any) -> None:
    """Lets the rotation of a Llama do something else."""
    import transformers.models.llama.modeling_llama as code

    own = code.apply_rotary_pos_emb
    monkeypatch.setattr(code, "apply_rotary_pos_emb", lambda q, k, cos, sin, **_: change(*own(q, k, cos, sin)))


def test_vectors_that_are_changed_after_rotation_do_not_verify(monkeypatch: pytest.MonkeyPatch):
    model = tiny_model(FAMILIES["Llama"])
    _spoil(lambda q, k: (q, k + k.roll(1, -1) / 2), monkeypatch)
    with pytest.raises(WhatwhereError, match=r"LlamaForCausalLM cannot be read: in layer 0 8 coordinates .* turn, and"):
        ww.trace(model, IDS)


def test_a_rotation_that_does_not_grow_with_position_does_not_verify(monkeypatch: pytest.MonkeyPatch):
    model = tiny_model(FAMILIES["Llama"])
    own = model.model.rotary_emb.forward
    monkeypatch.setattr(model.model.rotary_emb, "forward", lambda x, position_ids: own(x, position_ids**2))
    with pytest.raises(WhatwhereError, match="are not its plain ones rotated by their position"):
        ww.trace(model, IDS)


def test_attention_that_a_trace_cannot_hold_does_not_verify(monkeypatch: pytest.MonkeyPatch):
    import transformers.models.llama.modeling_llama as code

    model = tiny_model(FAMILIES["Llama"])
    own = code.eager_attention_forward

    def scaled_by_something_else(*args: Any, scaling: float, **kwargs: Any) -> Any:
        return own(*args, scaling=scaling * 2, **kwargs)

    monkeypatch.setattr(code, "eager_attention_forward", scaled_by_something_else)
    with pytest.raises(WhatwhereError, match="Its attention does something that a trace does not hold"):
        ww.trace(model, IDS)


def test_an_attention_module_that_ends_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch):
    model = tiny_model(FAMILIES["Llama"])
    attention = model.model.layers[0].self_attn
    own, calls = attention.forward, []

    def once(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return own(*args, **kwargs) if len(calls) == 1 else None

    monkeypatch.setattr(attention, "forward", once)
    with pytest.raises(WhatwhereError, match="called a second time, its attention took another way"):
        ww.trace(model, IDS)


@pytest.mark.parametrize("kernel", ["flash_attention_2", "flex_attention"])
def test_a_kernel_that_cannot_be_watched_gives_way_to_sdpa_for_the_pass(
    llama: Any, kernel: str, monkeypatch: pytest.MonkeyPatch
):
    own = ww.trace(llama, IDS)
    monkeypatch.setattr(llama.config, "_attn_implementation_internal", kernel)
    found = ww.trace(llama, IDS)
    assert llama.config._attn_implementation == kernel
    for layer, other in zip(own.layers, found.layers, strict=True):
        torch.testing.assert_close(layer.attention(), other.attention())


@pytest.mark.parametrize("place", ["disk", "cpu"])
def test_a_model_that_accelerate_spreads_over_devices_is_read_as_a_whole_one(llama: Any, place: str, tmp_path: Path):
    from transformers import AutoModelForCausalLM

    llama.save_pretrained(tmp_path)
    near = ("model.embed_tokens", "model.rotary_emb", "model.norm", "lm_head", "model.layers.0")
    places = {**dict.fromkeys(near, "cpu"), "model.layers.1": place}
    spread = AutoModelForCausalLM.from_pretrained(tmp_path, device_map=places, offload_folder=tmp_path / "away")
    assert any(weights.is_meta for weights in spread.parameters()) == (place == "disk")
    found, own = (ww.trace(model, IDS, queries=[-1, -2]) for model in (spread, llama))
    for layer, other in zip(found.layers, own.layers, strict=True):
        torch.testing.assert_close(layer.attention(), other.attention())
    torch.testing.assert_close(ww.score(found).positional, ww.score(own).positional)
    torch.testing.assert_close(*(ww.run(model, IDS, ablate=[(1, 0)]) for model in (spread, llama)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [2]}, "expected a layer from 0 to 1 .*, got 2"),
        ({"queries": [10]}, "expected a query position from 0 to 9 .*, got 10"),
        ({"attention_mask": torch.ones(1, 10)}, r"mask of the tokens' shape \(3, 10\), got \(1, 10\)"),
        (
            {"queries": [0], "attention_mask": (torch.arange(10) > 1).expand(3, 10)},
            "got 0, which is padding in input 0",
        ),
        ({"tokens": IDS.float()}, r"a table of ids \[batch, seq\], got torch.float32"),
        ({"tokens": IDS + 50}, r"expected token ids in 0..49"),
    ],
)
def test_bad_arguments_are_refused(llama: Any, arguments: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        ww.trace(llama, arguments.pop("tokens", IDS), **arguments)


def test_something_that_is_no_model_is_refused():
    with pytest.raises(WhatwhereError, match=r"got the name 'number'; load it first with whatwhere.load"):
        ww.trace("number", IDS)
    with pytest.raises(WhatwhereError, match=r"a loaded transformers model, got a int"):
        ww.run(3, IDS)


def test_a_family_outside_the_list_is_read_all_the_same():
    stablelm = Family("stablelm", "", {"partial_rotary_factor": 0.25})
    assert ww.trace(tiny_model(stablelm), IDS).layers[0].rotation.width == 2


def test_a_fingerprint_tells_models_apart_by_every_weight_and_not_by_their_place(llama: Any):
    before = weights_fingerprint(RotaryModel(llama, "here"))
    assert weights_fingerprint(RotaryModel(llama, "there")) == before
    edited = deepcopy(llama)
    weight = edited.model.layers[1].self_attn.q_proj.weight.data
    weight.view(-1)[weight.numel() // 2] += 1e-3
    assert weights_fingerprint(RotaryModel(edited, "here")) != before
    turned = deepcopy(llama)
    turned.config.max_position_embeddings += 1
    assert weights_fingerprint(RotaryModel(turned, "here")) != before
