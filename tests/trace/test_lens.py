"""A TransformerBridge is read through the transformers model inside it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

import whatwhere as ww
from whatwhere.trace.traceable import is_bridge, unbridged

TOKENS = torch.randint(0, 60, (2, 9), generator=torch.Generator().manual_seed(0))


class Component(nn.Module):
    """Stands in the place of a part that it keeps, as the components of a bridge do, and computes something else."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self._original_component = part
        self.extra = nn.Linear(2, 2)

    def forward(self, *_args: object, **_kwargs: object) -> None:
        raise AssertionError("the bridge's own component ran")


class TransformerBridge(nn.Module):
    """The shape of TransformerLens' class: parts of the wrapped model are replaced where they stand, parts first."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        super().__init__()
        self.__dict__["original_model"] = model
        parts = ("self_attn.q_proj", "self_attn.k_proj", "self_attn", "input_layernorm")
        for name in (*(f"model.layers.{layer}.{part}" for layer in range(2) for part in parts), "model.rotary_emb"):
            model.set_submodule(name, Component(model.get_submodule(name)))


@pytest.fixture
def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=61, eos_token_id=62, pad_token_id=63,
        initializer_range=0.3,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def test_a_model_behind_components_gives_the_trace_of_the_plain_model(model: LlamaForCausalLM) -> None:
    expected = ww.score(ww.trace(model, TOKENS))
    bridge = TransformerBridge(model)
    assert is_bridge(bridge)
    assert not is_bridge(model)
    found = ww.score(ww.trace(bridge, TOKENS))
    assert torch.equal(found.positional, expected.positional)
    assert torch.equal(found.symbolic, expected.symbolic)


def test_the_bridge_is_not_touched_and_its_weights_are_shared(model: LlamaForCausalLM) -> None:
    TransformerBridge(model)
    parts = [type(part).__name__ for part in model.modules()]
    plain = unbridged(model)
    assert [type(part).__name__ for part in model.modules()] == parts
    assert not any(isinstance(part, Component) for part in plain.modules())
    kept = model.get_parameter("model.layers.1.self_attn._original_component.q_proj._original_component.weight")
    assert plain.get_parameter("model.layers.1.self_attn.q_proj.weight") is kept


def test_a_bridge_around_something_else_is_refused_by_name() -> None:
    bridge = TransformerBridge.__new__(TransformerBridge)
    nn.Module.__init__(bridge)
    bridge.__dict__["original_model"] = nn.Linear(2, 2)
    with pytest.raises(ww.WhatwhereError, match="got a Linear"):
        ww.trace(bridge, TOKENS)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of TransformerLens are its own
def test_a_real_bridge_agrees_with_the_transformers_path(model: LlamaForCausalLM, tmp_path: Path) -> None:
    reason = "runs where TransformerLens is installed (pip install transformer-lens); it is too heavy for every set-up"
    lens = pytest.importorskip("transformer_lens.model_bridge", reason=reason)
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({**{f"t{i}": i for i in range(60)}, "?": 60, "<": 61, ">": 62, "_": 63}, "?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="?", bos_token="<", eos_token=">", pad_token="_"
    ).save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    expected = ww.trace(model, TOKENS, queries=range(9))
    bridge = lens.TransformerBridge.boot_transformers(str(tmp_path), hf_model=model, device="cpu")
    _, cache = bridge.run_with_cache(TOKENS)
    found = ww.trace(bridge, TOKENS, queries=range(9))
    for layer, (ours, plain) in enumerate(zip(found.layers, expected.layers, strict=True)):
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"]
        assert (ours.attention() - pattern).abs().max() < 1e-5
        assert (ours.attention() - plain.attention()).abs().max() < 1e-5
    assert torch.allclose(ww.score(found).positional, ww.score(expected).positional, atol=1e-6)
