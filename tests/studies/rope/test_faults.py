"""Faults that are put into a model: each is named with its layers and its cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_model
from torch import Tensor

from whatwhere.model.rope import interleaved_to_half, rope_frequencies
from whatwhere.studies.measuring import study
from whatwhere.studies.rope.tables import Difference

SEQ = 24


def found(model: Any, other: str | None = None) -> list[Difference]:
    return study("rope", model, tokens=SEQ, other=other).rows("differences", Difference)


def causes(rows: list[Difference]) -> dict[int, list[tuple[str, str]]]:
    """By layer, what differs and why."""
    return {
        layer: [(row.what, row.cause) for row in rows if row.layer == layer] for layer in {row.layer for row in rows}
    }


def attention(model: Any, layer: int) -> Any:
    return model.model.layers[layer].self_attn


def with_table(model: Any, frequencies: Tensor) -> Any:
    """The model with another table of frequencies in all layers."""
    model.model.rotary_emb.inv_freq = frequencies.float()
    return model


def turn_interleaved(module: Any) -> None:
    """Lets one layer pair neighbours, as if its weights were GPT-J's."""
    from transformers.models.llama import modeling_llama

    own, half = module.forward, modeling_llama.rotate_half

    def neighbours(x: Tensor) -> Tensor:
        return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)

    def forward(*args: Any, **kwargs: Any) -> Any:
        turning: Any = kwargs["position_embeddings"]
        planes = turning[0].shape[-1] // 2
        pairs = tuple(table[..., :planes].repeat_interleave(2, -1) for table in turning)
        modeling_llama.rotate_half = neighbours
        try:
            return own(*args, **{**kwargs, "position_embeddings": pairs})
        finally:
            modeling_llama.rotate_half = half

    module.forward = forward


def test_a_pairing_in_one_layer(llama: Any):
    turn_interleaved(attention(llama, 1))
    cause = "coordinates are paired interleaved where the family pairs them half-split"
    assert causes(found(llama)) == {1: [("pairing", cause)]}


def test_a_wrong_base(llama: Any):
    rows = found(with_table(llama, rope_frequencies(8, 500000.0)))
    assert causes(rows) == {key: [("frequencies", "base 500,000 instead of 10,000")] for key in (0, 1)}


def test_a_wrong_base_under_scaling():
    model = tiny_model(FAMILIES["Llama 3 scaling"])
    settings = replace(FAMILIES["Llama 3 scaling"], settings={
        "rope_parameters": {**FAMILIES["Llama 3 scaling"].settings["rope_parameters"], "rope_theta": 2e4},
        "max_position_embeddings": 8,
    })  # fmt: skip
    model.model.rotary_emb = tiny_model(settings).model.rotary_emb
    assert causes(found(model))[0] == [("frequencies", "base 20,000 instead of 10,000")]


def test_a_wrong_denominator_of_the_exponent():
    model = tiny_model(FAMILIES["Phi"])  # 4 of 8 coordinates turn
    rows = found(with_table(model, 10000.0 ** (-torch.arange(0, 4, 2) / 8)))
    assert causes(rows)[1] == [("frequencies", "the exponent is divided by 8 instead of 4")]


@pytest.mark.parametrize("rule", ["YaRN", "linear scaling"])
def test_a_missing_scaling(rule: str):
    model: Any = tiny_model(FAMILIES[f"Llama, {rule}"])
    kind = model.config.rope_parameters["rope_type"]
    with_table(model, rope_frequencies(8, 10000.0)).model.rotary_emb.attention_scaling = 1.0
    rows = causes(found(model))[0]
    assert rows[0] == ("frequencies", f"the scaling {kind!r} is missing: these are plain powers of the base")
    assert rows[1:] == ([("lengthening", "the lengthening of turned vectors is missing")] if kind == "yarn" else [])


def test_another_linear_factor():
    model = tiny_model(FAMILIES["Llama, linear scaling"])
    rows = found(with_table(model, rope_frequencies(8, 10000.0) / 8))
    assert "all frequencies are divided by 4" in causes(rows)[0][0][1]


def test_a_table_that_was_rounded(llama: Any):
    rows = found(with_table(llama, rope_frequencies(8, 10000.0).bfloat16()))
    assert causes(rows)[0] == [("frequencies", "the table of frequencies was rounded to bfloat16")]


def test_frequencies_by_no_known_rule(llama: Any):
    rows = found(with_table(llama, torch.tensor([1.0, 0.2, 0.01, 0.001])))
    assert causes(rows)[0] == [("frequencies", "planes 2 to 2 turn at another speed, by no rule that is known here")]


def test_an_attention_scale_that_is_missing_in_one_layer(llama: Any):
    attention(llama, 0).scaling = 1.0
    assert causes(found(llama)) == {0: [("scale", "the attention scale is missing")]}


def test_an_attention_scale_that_is_ignored_and_one_that_is_unknown():
    model = tiny_model(FAMILIES["Gemma 2"])
    attention(model, 0).scaling, attention(model, 1).scaling = 0.25, 0.3
    rows = causes(found(model))
    assert rows[0][0][1] == "the configuration's scale is ignored: it is one over the square root of the width"
    assert rows[1] == [("scale", "logits are multiplied by another scale")]


def test_an_inverted_pattern_of_layers_without_rotation():
    model = tiny_model(FAMILIES["SmolLM3"])
    for layer in (0, 1):
        attention(model, layer).use_rope = 1 - attention(model, layer).use_rope
    rows = found(model)
    cause = "the pattern of layers without rotation (NoPE) is inverted"
    assert causes(rows) == {key: [("rotation", cause)] for key in (0, 1)}
    assert [(row.found, row.expected) for row in rows] == [
        ("no rotation", "8 of 8 coordinates turn"), ("8 of 8 coordinates turn", "no rotation"),
    ]  # fmt: skip


@pytest.mark.parametrize(("layer", "cause"), [
    (0, "a layer that should turn does not"), (1, "a layer that should have no rotation (NoPE) has one"),
])  # fmt: skip
def test_one_layer_that_turns_or_not_by_mistake(layer: int, cause: str):
    model = tiny_model(FAMILIES["SmolLM3"])
    attention(model, layer).use_rope = layer
    assert causes(found(model)) == {layer: [("rotation", cause)]}


@pytest.mark.parametrize(("width", "cause"), [
    (8, "the partial factor is ignored: whole heads turn"), (2, "another share of the head turns"),
])  # fmt: skip
def test_an_ignored_partial_factor(width: int, cause: str):
    model: Any = tiny_model(FAMILIES["Phi"])
    with_table(model, rope_frequencies(width, 10000.0))
    for layer in (0, 1):
        attention(model, layer).rotary_ndims = width
    assert causes(found(model)) == {key: [("width", cause)] for key in (0, 1)}


def test_local_and_global_that_are_swapped():
    model: Any = tiny_model(FAMILIES["Gemma 3"])
    tables = model.model.rotary_emb
    local, broad = tables.sliding_attention_inv_freq, tables.full_attention_inv_freq
    tables.sliding_attention_inv_freq, tables.full_attention_inv_freq = broad, local
    rows = causes(found(model))
    assert rows[0] == [
        ("frequencies", "these are the frequencies of its full_attention layers: local and global are swapped")
    ]
    assert rows[1][0][1] == "these are the frequencies of its sliding_attention layers: local and global are swapped"


def permuted(model: Any, layers: tuple[int, ...]) -> Any:
    """The rows of queries and keys in the order that the other pairing needs, as in a file that was not permuted."""
    for layer in layers:
        for part in (attention(model, layer).q_proj, attention(model, layer).k_proj):
            rows = part.weight.data.unflatten(0, (-1, 8))
            part.weight.data = rows[:, interleaved_to_half(8, 8)].flatten(0, 1)
    return model


def test_rows_that_were_not_permuted_in_one_layer(llama: Any, saved: Callable[[Any, str], str]):
    whole = saved(llama, "whole")
    rows = found(permuted(llama, (1,)), whole)
    assert [(row.layer, row.what, row.found, row.against) for row in rows] == [(1, "pairing", "rows half-split", whole)]
    assert "not permuted on conversion" in rows[0].cause


def test_two_checkpoints_that_agree_and_two_that_do_not(llama: Any, saved: Callable[[Any, str], str]):
    assert found(llama, saved(llama, "same")) == []
    other = tiny_model(
        replace(FAMILIES["Llama"], settings={"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}})
    )
    rows = found(llama, saved(other, "longer"))
    assert causes(rows) == {key: [("frequencies", "base 10,000 instead of 500,000")] for key in (0, 1)}


def test_a_pairing_of_its_own_is_no_fault_if_the_weights_follow_it(llama: Any, saved: Callable[[Any, str], str]):
    whole = saved(llama, "whole")
    for layer in (0, 1):
        for part in (attention(llama, layer).q_proj, attention(llama, layer).k_proj):
            rows = part.weight.data.unflatten(0, (-1, 8))
            part.weight.data = rows[:, interleaved_to_half(8, 8).argsort()].flatten(0, 1)
        turn_interleaved(attention(llama, layer))
    assert [row.against for row in found(llama, whole)] == ["configuration"] * 2  # and none against the other


def test_a_pairing_against_another_checkpoint(llama: Any, saved: Callable[[Any, str], str]):
    whole = saved(llama, "whole")
    turn_interleaved(attention(llama, 0))
    (row,) = [row for row in found(llama, whole) if row.against == whole]
    assert (row.layer, row.what) == (0, "pairing")
    assert (
        row.cause == "coordinates are paired interleaved instead of half-split, and the weights stand in the same order"
    )
