import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig


def sharpened(model: GPTJ) -> GPTJ:
    """Weights far from their small start, so that a difference would show."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.05)
    return model


def tokens(batch: int, seq: int, vocabulary: int) -> Tensor:
    return torch.randint(0, vocabulary, (batch, seq), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "shape", [{}, {"heads": 4, "layers": 3}, {"rotary_dim": 64, "layers": 3}, {"activation": "gelu_tanh", "layers": 3}]
)
def test_transformers_gptj_gives_the_same_logits(shape: dict[str, Any]):
    model = sharpened(GPTJ(ModelConfig(136, **shape)))
    ids = tokens(4, 17, 136)
    with torch.no_grad():
        torch.testing.assert_close(model(ids), model.to_hf()(ids).logits, rtol=0, atol=1e-4)


def test_transformers_gptj_gives_the_same_logits_at_length_850():
    model = sharpened(GPTJ(ModelConfig(128)))
    ids = tokens(1, 850, 128)
    with torch.no_grad():
        torch.testing.assert_close(model(ids), model.to_hf()(ids).logits, rtol=0, atol=1e-4)


def test_transformers_gptj_gives_the_same_gradients():
    model = sharpened(GPTJ(ModelConfig(136, layers=3)))
    theirs = model.to_hf()
    ids, answers = tokens(8, 17, 136), tokens(8, 1, 136)[:, 0]
    torch.nn.functional.cross_entropy(model.answer_logits(ids), answers).backward()
    torch.nn.functional.cross_entropy(theirs(ids).logits[:, -1], answers).backward()
    # Gradients travel back through the weights' own route: as a model whose parameters are its gradients.
    for parameter in theirs.parameters():
        assert parameter.grad is not None
        parameter.data = parameter.grad
    for ours, exported in zip(model.parameters(), GPTJ.from_hf(theirs).parameters(), strict=True):
        assert ours.grad is not None
        torch.testing.assert_close(ours.grad, exported.data, rtol=1e-3, atol=1e-6)


def test_a_model_survives_the_way_there_and_back_through_a_directory(tmp_path: Path):
    from transformers import GPTJForCausalLM

    model = sharpened(GPTJ(ModelConfig(20, layers=2, heads=2, d_model=16, d_mlp=24, rotary_dim=6)))
    model.to_hf().save_pretrained(tmp_path)
    back = GPTJ.from_hf(GPTJForCausalLM.from_pretrained(tmp_path))
    assert back.config == model.config
    for ours, theirs in zip(model.parameters(), back.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"rope_base": 500.0}, "rotary base 10000, .* got 500.0"),
        ({"rope_base": None}, "rotary base 10000, .* got None"),
        ({"closed_planes": ((1,),)}, "all rotary planes open"),
        ({"nope_from": 0}, "rotates in every layer, got one with nope_from 0"),
    ],
)
def test_what_gptj_cannot_express_is_not_exported(shape: dict, message: str):
    with pytest.raises(WhatwhereError, match=message):
        GPTJ(ModelConfig(20, layers=1, d_model=8, d_mlp=8, **shape)).to_hf()


def test_another_class_or_activation_is_not_taken_over():
    from transformers import GPTJConfig, GPTJForCausalLM

    with pytest.raises(WhatwhereError, match="expected a GPTJForCausalLM, got a Linear"):
        GPTJ.from_hf(torch.nn.Linear(1, 1))  # pyright: ignore[reportArgumentType]
    shape = {"vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 1, "rotary_dim": 8, "tie_word_embeddings": False}
    relu = GPTJForCausalLM(GPTJConfig(**shape, activation_function="relu"))
    with pytest.raises(WhatwhereError, match="the activation gelu or gelu_new, got 'relu'"):
        GPTJ.from_hf(relu)


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'whatwhere\[hf\]'"):
        GPTJ(ModelConfig(20, layers=1, d_model=8, d_mlp=8)).to_hf()
