"""Interventions on every kind of model, against changes that are made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_model
from torch import Tensor, nn

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.theory.index_head import index_head
from whatwhere.trace import forward
from whatwhere.trace.forward import Changes, Traceable
from whatwhere.trace.interventions import (
    Ablate,
    ClosePlanes,
    Intervention,
    MaskFar,
    Patch,
    ScaleAngles,
    ScaleLogits,
    Write,
)
from whatwhere.trace.own import OwnModel
from whatwhere.trace.traceable import run, trace, traceable

IDS, OTHERS = torch.randint(3, 50, (2, 3, 12), generator=torch.Generator().manual_seed(2))
NUMBERS = torch.tensor([[0, 1, 2, 3, 121, 4, 123], [5, 120, 7, 2, 122, 125, 121]])
SMALL = ModelConfig(50, layers=3, heads=2, d_model=16, d_mlp=32, rotary_dim=6, init_std=0.3)
EVERY: list[Intervention] = [
    Ablate(1, 0),
    Ablate(0, 1, to="zero"),
    Patch(1, 1, OTHERS),
    ClosePlanes((1,)),
    ClosePlanes((1, 2), layers=(1,)),
    ClosePlanes((2,), heads=((0, 1),)),
    MaskFar(recent=3, first=1),
    MaskFar(recent=2, heads=((1, 0), (0, 1))),
    ScaleLogits(2.5),
    ScaleLogits(0.0, layers=(1,)),
    ScaleAngles(0.5),
    ScaleAngles(0.0, layers=(0,)),
]


# -- By hand, for transformers models: what a user of the library would write. --------------------------------------


@contextmanager
def attention_as(change: Callable[..., Any]) -> Iterator[None]:
    """Puts a function of our own in the place of Llama's and GPT-NeoX's eager attention."""
    import transformers.models.gpt_neox.modeling_gpt_neox as neox
    import transformers.models.llama.modeling_llama as llama

    own = llama.eager_attention_forward, neox.eager_attention_forward
    llama.eager_attention_forward = neox.eager_attention_forward = change
    try:
        yield
    finally:
        llama.eager_attention_forward, neox.eager_attention_forward = own


def softmax_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float) -> tuple[Tensor, None]:
    """Attention from the textbook; keys and values of a group are repeated."""
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    weights = (query @ key.mT * scaling + mask).softmax(-1)
    return (weights @ value).transpose(1, 2), None


def planes_of(width: int, rotary: int, planes: Sequence[int]) -> list[int]:
    """Coordinates of some planes (IDs from 1) in Llama's and GPT-NeoX's layout: half of the rotary width apart."""
    return [plane - 1 + half for plane in planes for half in (0, rotary // 2) if plane - 1 + half < width]


def by_hand(model: Any, ids: Tensor, rotary: int, *, planes: Sequence[int] = (), scale: float = 1.0,
            recent: int = 10**6, first: int = 0, heads: Sequence[tuple[int, int]] | None = None) -> Tensor:  # fmt: skip
    """Logits of a model whose attention closes planes, multiplies logits or masks far keys."""

    def change(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **_: Any) -> Any:
        layer, width, seq = module.layer_idx, query.shape[-1], query.shape[2]
        changed = [h for h in range(query.shape[1]) if heads is None or (layer, h) in heads]
        query, mask = query.clone(), mask.expand(len(query), query.shape[1], -1, -1).clone()
        for coordinate in planes_of(width, rotary, planes):
            query[:, changed, :, coordinate] = 0
        place = torch.arange(seq)
        far = (place <= place[:, None] - recent) & (place >= first)
        mask[:, changed] = mask[:, changed].masked_fill(far, -torch.inf)
        return softmax_attention(query, key, value, mask, scaling * scale)

    with attention_as(change):
        return model(ids, use_cache=False).logits


def test_a_head_writes_what_is_given(family: tuple[nn.Module, int]):
    model, _ = family
    source = traceable(model)
    mean = source.record(source.inputs(IDS), [1])[1].mean(0)[:, 0]  # [seq, d_value], of head 0
    given, ablated = (run(model, IDS, interventions=[change]) for change in (Write(1, 0, mean), Ablate(1, 0)))
    torch.testing.assert_close(given, ablated)
    assert not torch.allclose(given, run(model, IDS))


@pytest.fixture(scope="module", params=["Llama", "GPT-NeoX, Pythia"])
def family(request: pytest.FixtureRequest) -> tuple[nn.Module, int]:
    """A model with grouped keys, or with a joint projection; and how many coordinates of a head turn."""
    return tiny_model(FAMILIES[request.param]), 8 if request.param == "Llama" else 2


def test_closed_planes_and_scaled_logits_are_those_made_by_hand(family: tuple[nn.Module, int]):
    model, rotary = family
    closed = run(model, IDS, interventions=[ClosePlanes((1,))])
    torch.testing.assert_close(closed, by_hand(model, IDS, rotary, planes=[1]), rtol=0, atol=1e-5)
    closed = run(model, IDS, interventions=[ClosePlanes((1,), heads=((0, 1), (1, 3)))])
    torch.testing.assert_close(
        closed, by_hand(model, IDS, rotary, planes=[1], heads=[(0, 1), (1, 3)]), rtol=0, atol=1e-5
    )
    sharp = run(model, IDS, interventions=[ScaleLogits(1.7)])
    torch.testing.assert_close(sharp, by_hand(model, IDS, rotary, scale=1.7), rtol=0, atol=1e-5)
    assert float((closed - sharp).abs().max()) > 1e-3


def test_masked_keys_are_those_masked_by_hand(family: tuple[nn.Module, int]):
    model, rotary = family
    masked = run(model, IDS, interventions=[MaskFar(recent=3, first=2)])
    torch.testing.assert_close(masked, by_hand(model, IDS, rotary, recent=3, first=2), rtol=0, atol=1e-5)
    heads = ((0, 1), (1, 0), (1, 2))
    masked = run(model, IDS, interventions=[MaskFar(recent=2, heads=heads)])
    torch.testing.assert_close(masked, by_hand(model, IDS, rotary, recent=2, heads=heads), rtol=0, atol=1e-5)


def test_scaled_angles_are_those_of_scaled_positions(family: tuple[nn.Module, int]):
    model, _ = family
    rotary: Any = next(module for name, module in model.named_modules() if name.endswith("rotary_emb"))
    scaled = run(model, IDS, interventions=[ScaleAngles(0.4)])
    own = rotary.inv_freq.clone()
    try:
        rotary.inv_freq.mul_(0.4)
        torch.testing.assert_close(scaled, model(IDS, use_cache=False).logits, rtol=0, atol=1e-5)
        factors = tuple(0.4 + 0.1 * k for k in range(len(own)))
        scaled = run(tiny_copy(model, own), IDS, interventions=[ScaleAngles(factors)])
        rotary.inv_freq.copy_(own * torch.tensor(factors))
        torch.testing.assert_close(scaled, model(IDS, use_cache=False).logits, rtol=0, atol=1e-5)
    finally:
        rotary.inv_freq.copy_(own)


def tiny_copy(model: nn.Module, frequencies: Tensor) -> nn.Module:
    """The same model with other frequencies."""
    from copy import deepcopy

    other = deepcopy(model)
    for name, buffer in other.named_buffers():
        if name.endswith("inv_freq"):
            buffer.copy_(frequencies)
    return other


def projections(model: nn.Module) -> list[nn.Module]:
    """The output projection of each attention layer."""
    ends = ("self_attn.o_proj", "attention.dense")
    return [module for name, module in model.named_modules() if name.endswith(ends)]


def written(model: Any, ids: Tensor, layer: int) -> Tensor:
    """What the heads of a layer write, ``[batch, seq, head, d_head]``."""
    kept: list[Tensor] = []
    hook = projections(model)[layer].register_forward_pre_hook(lambda _, args: kept.append(args[0]))
    try:
        model(ids, use_cache=False)
    finally:
        hook.remove()
    return kept[0].unflatten(-1, (4, -1))


def with_head(model: Any, ids: Tensor, layer: int, head: int, value: Tensor | float) -> Tensor:
    """Logits of a model in which a head writes something else."""

    def put(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        heads = args[0].unflatten(-1, (4, -1)).clone()
        heads[:, :, head] = value
        return heads.flatten(2), *args[1:]

    hook = projections(model)[layer].register_forward_pre_hook(put)
    try:
        return model(ids, use_cache=False).logits
    finally:
        hook.remove()


def test_ablated_and_patched_heads_are_those_replaced_by_hooks(family: tuple[nn.Module, int]):
    model, _ = family
    mean = written(model, IDS, 1)[:, :, 2].mean(0)
    torch.testing.assert_close(run(model, IDS, ablate=[(1, 2)]), with_head(model, IDS, 1, 2, mean), rtol=0, atol=1e-5)
    zero = run(model, IDS, interventions=[Ablate(0, 3, to="zero")])
    torch.testing.assert_close(zero, with_head(model, IDS, 0, 3, 0.0), rtol=0, atol=1e-5)
    patched = run(model, IDS, interventions=[Patch(0, 1, OTHERS)])
    expected = with_head(model, IDS, 0, 1, written(model, OTHERS, 0)[:, :, 1])
    torch.testing.assert_close(patched, expected, rtol=0, atol=1e-5)


# -- Every model and every family. ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours() -> GPTJ:
    model = GPTJ(SMALL).requires_grad_(False)
    with torch.no_grad():
        for block in model.layers():
            block.w_in.mul_(2)
    return model


@pytest.mark.parametrize("change", EVERY, ids=repr)
def test_our_gptj_and_its_transformers_twin_agree_in_runs_and_traces(ours: GPTJ, change: Intervention):
    twin = ours.to_hf()
    logits = run(ours, IDS, interventions=[change])
    torch.testing.assert_close(logits, run(twin, IDS, interventions=[change]), rtol=0, atol=1e-4)
    assert float((logits - ours(IDS)).abs().max()) > 1e-3
    mine, theirs = (trace(model, IDS, queries=range(12), interventions=[change]) for model in (ours, twin))
    torch.testing.assert_close(mine.attention(), theirs.attention(), rtol=0, atol=1e-5)


def test_several_changes_work_together_and_in_order(ours: GPTJ):
    changes = [Ablate(2, 0), Patch(0, 1, OTHERS), ClosePlanes((2,)), MaskFar(4), ScaleLogits(1.5), Ablate(1, 1, "zero")]
    both = (run(model, IDS, interventions=changes) for model in (ours, ours.to_hf()))
    torch.testing.assert_close(*both, rtol=0, atol=1e-4)


def test_layers_that_nothing_changes_keep_the_compiled_path_and_an_empty_change_changes_nothing(ours: GPTJ):
    assert torch.equal(run(ours, IDS), ours(IDS))
    torch.testing.assert_close(run(ours, IDS, interventions=[ScaleLogits(1.0)]), ours(IDS), rtol=0, atol=1e-5)


def test_changes_that_the_tables_of_the_compiled_path_hold_are_those_of_the_plain_path(ours: GPTJ):
    whole = GPTJ(replace(SMALL, rotary_dim=None)).requires_grad_(False)
    changes = [ClosePlanes((1, 3), layers=(0, 2)), ScaleAngles((0.5, 2.0, 0.0), layers=(1,)), ScaleLogits(1.5)]
    some = [ClosePlanes((1, 4)), ScaleAngles(0.3), ScaleLogits(1.5)]
    for model, given in ((ours, changes[:2]), (whole, some), (ours, changes)):
        plain = Traceable.run(OwnModel(model), IDS, interventions=given)
        torch.testing.assert_close(run(model, IDS, interventions=given), plain, rtol=0, atol=1e-5)
        assert float((plain - model(IDS)).abs().max()) > 1e-3


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_attends_as_before_when_a_change_is_empty(name: str):
    model = tiny_model(FAMILIES[name])
    nothing = [ScaleLogits(1.0), MaskFar(100), ScaleAngles(1.0), ClosePlanes(())]
    torch.testing.assert_close(run(model, IDS, interventions=nothing), model(IDS).logits, rtol=0, atol=2e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(side: str):
    model = tiny_model(FAMILIES["Llama"])
    real = slice(5, None) if side == "left" else slice(7)
    ids, mask = IDS.clone(), torch.ones_like(IDS)
    ids[1], mask[1] = 0, 0
    ids[1, real], mask[1, real] = IDS[0, :7], 1
    changes = [MaskFar(recent=2, first=1), ScaleLogits(2.0)]
    alone = run(model, IDS[:1, :7], interventions=changes)
    padded = run(model, {"input_ids": ids, "attention_mask": mask}, interventions=changes)
    torch.testing.assert_close(padded[1, real], alone[0], rtol=0, atol=1e-5)
    assert not bool(padded.isnan().any())
    heads = run(model, {"input_ids": ids, "attention_mask": mask}, ablate=[(0, 0)])
    clean = model(input_ids=ids, attention_mask=mask).logits
    assert not bool(heads.isnan().any())
    assert float((heads - clean).abs().max()) > 1e-4


def test_a_hand_built_head_runs_with_interventions():
    head = index_head(1.0, 30.0)
    plain = run(head, NUMBERS)
    torch.testing.assert_close(plain, head.outputs(NUMBERS))
    still = run(head, NUMBERS, interventions=[ScaleAngles(0.0)])
    assert float((plain - still).abs().max()) > 0.1
    flat = trace(head, NUMBERS, interventions=[ClosePlanes((1,))]).attention()[0, :, 0, 0]
    torch.testing.assert_close(flat, torch.full((2, 7), 1 / 7, dtype=torch.float64))
    torch.testing.assert_close(run(head, NUMBERS, interventions=[Ablate(0, 0, "zero")]), head.direct[NUMBERS])
    torch.testing.assert_close(run(head, NUMBERS, interventions=[Patch(0, 0, NUMBERS)]), plain)


def test_attention_in_blocks_of_queries_is_attention_at_once(ours: GPTJ, monkeypatch: pytest.MonkeyPatch):
    changes = [ScaleLogits(2.0), MaskFar(3, heads=((1, 1),))]
    at_once = run(ours, IDS, interventions=changes)
    monkeypatch.setattr(forward, "CELLS_AT_ONCE", 1)
    torch.testing.assert_close(run(ours, IDS, interventions=changes), at_once, rtol=0, atol=1e-5)


# -- What the trace shows. ------------------------------------------------------------------------------------------


def test_the_trace_shows_what_is_changed(ours: GPTJ):
    plain = trace(ours, IDS, queries=range(12))
    masked = trace(ours, IDS, queries=range(12), interventions=[MaskFar(2)]).layers[0]
    assert masked.uniform and masked.visible.sum(-1).tolist() == [1] + [2] * 11
    sharp = trace(ours, IDS, queries=range(12), interventions=[ScaleLogits(3.0, layers=(0,))])
    seen = plain.layers[0].visible.expand(3, 2, 12, 12)
    torch.testing.assert_close(sharp.layers[0].logits()[seen], 3 * plain.layers[0].logits()[seen])
    still = trace(ours, IDS, interventions=[ScaleAngles(0.0)]).layers[1]
    assert not still.rotation.frequencies.any()
    ablated = trace(ours, IDS, queries=range(12), interventions=[Ablate(1, 0)])
    torch.testing.assert_close(ablated.layers[1].attention(), plain.layers[1].attention())
    assert float((ablated.layers[2].attention() - plain.layers[2].attention()).abs().max()) > 1e-4


def test_heads_that_see_different_keys_are_scored_one_by_one(ours: GPTJ):
    layer = trace(ours, IDS, interventions=[MaskFar(3, heads=((0, 1),))]).layers[0]
    assert layer.visible.shape == (3, 2, 1, 12)
    assert layer.visible.sum(-1)[0].tolist() == [[12], [3]]
    with pytest.raises(WhatwhereError, match=r"heads that see the same keys.*layer.of_heads\(\[head\]\)"):
        list(layer.parts(1))
    one = layer.of_heads([1])
    assert one.visible.shape == (3, 1, 12)
    assert len(list(one.parts(1))) == 3


def test_scaled_logits_of_a_capped_model_with_sinks_are_scaled_after_the_cap():
    for name in ("Gemma 2", "GPT-OSS"):
        model = tiny_model(FAMILIES[name])
        plain, sharp = (trace(model, IDS, layers=[0], interventions=c).layers[0] for c in ([], [ScaleLogits(2.0)]))
        seen = plain.visible.expand_as(plain.logits())
        torch.testing.assert_close(sharp.logits()[seen], 2 * plain.logits()[seen])
        assert (plain.sink is None) == (sharp.sink is None)


# -- What is refused. -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Ablate(3, 0), "expected a layer from 0 to 2, got 3"),
        (Ablate(0, 2), "expected a head from 0 to 1, got 2"),
        (MaskFar(2, heads=((0, 5),)), "expected a head from 0 to 1, got 5"),
        (ScaleLogits(2.0, layers=(-1,)), "expected a layer from 0 to 2, got -1"),
        (ClosePlanes((4,)), "expected plane IDs from 1 to 3 in layer 0, got 4"),
        (ScaleAngles((1.0, 2.0)), "expected one factor, or one for each of the 3 planes of layer 0, got 2"),
        (Patch(0, 0, IDS[:, :5]), r"patches from tokens of the same shape, \(3, 12\), got \(3, 5\)"),
        (Patch(0, 0, IDS + 50), "expected token ids in 0..49"),
    ],
)
def test_changes_that_do_not_fit_the_model_are_refused(ours: GPTJ, change: Any, message: str):
    with pytest.raises(WhatwhereError, match=message):
        run(ours, IDS, interventions=[change])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ablate(0, 0, "median"), "an ablation to 'mean' or 'zero', got 'median'"),
        (lambda: MaskFar(0), "recent of at least 1 and first of at least 0, got 0 and 0"),
        (lambda: MaskFar(1, first=-1), "got 1 and -1"),
        (lambda: ScaleLogits(-1.0), "factor of at least 0 for the logits, got -1.0"),
        (lambda: ScaleAngles(float("nan")), "finite factors for the angles, got nan"),
        (lambda: ClosePlanes((1,), layers=(0,), heads=((0, 0),)), "layers or heads .* got both"),
    ],
)
def test_changes_that_make_no_sense_are_refused(make: Callable[[], object], message: str):
    with pytest.raises(WhatwhereError, match=message):
        make()


def test_something_that_is_no_change_is_refused(ours: GPTJ):
    model = OwnModel(ours)
    with pytest.raises(WhatwhereError, match=r"expected interventions such as .*, got a tuple"):
        Changes(model, model.inputs(IDS), [(1, 0)])


def test_a_model_without_outputs_or_out_of_reach_is_refused():
    from transformers import AutoConfig, AutoModelForCausalLM

    llama: Any = tiny_model(FAMILIES["Llama"])
    with pytest.raises(WhatwhereError, match=r"expected a model that predicts tokens .*, got a LlamaModel"):
        run(llama.model, IDS)
    config = AutoConfig.for_model(
        "falcon", vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, alibi=False
    )
    with pytest.raises(WhatwhereError, match="nothing was seen of the attention of layer 0"):
        run(AutoModelForCausalLM.from_config(config), IDS, ablate=[(0, 0)])


def test_the_public_name_runs_and_prints_no_arrays(ours: GPTJ):
    assert torch.equal(ww.run(ours, IDS), ours(IDS))
    assert repr(Patch(0, 1, IDS)) == "Patch(layer=0, head=1)"
