"""The families that are read, each as a tiny random model, and the check that each passes.

For every family the attention rebuilt from our trace is compared with the attention that the model itself reports, with
and without padding; and our score of the first layer with the score by hand: tokens are swapped, the model runs again,
and the definition is applied to what it reports. (At the first layer, swapping tokens is swapping keys.) The tests hold
the errors against their bounds, ``python -m benchmarks adapters`` prints them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import torch
from family_table import FAMILIES as FAMILIES
from family_table import Family as Family
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.heads.scores import score
from whatwhere.trace.traceable import trace

if TYPE_CHECKING:
    from transformers import PreTrainedModel

VOCABULARY = 50
SEQ = 12
TAU = 0.1
"""Of the check only: by hand, scores come from the model's own attention, whose rounding a small tau blows up."""
_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_SHARPENED = ("q_proj.weight", "k_proj.weight", "q_b_proj.weight", "kv_a_proj", "qkv", "query_key_value.weight")
"""Weights that are enlarged."""


def tiny_model(family: Family, *, dtype: torch.dtype = torch.float32, attention: str = "eager") -> PreTrainedModel:
    """A random model of a family, with attention sharp enough to tell keys apart."""
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = {**_COMMON, **family.settings}
    if family.model_type in ("gptj", "gpt_neox"):
        del settings["num_key_value_heads"]
    config = AutoConfig.for_model(family.model_type, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
        with suppress(AttributeError, ValueError):  # where there are experts: their usual product knows no float64
            model.set_experts_implementation("eager")
        with torch.no_grad():
            for name, weights in model.named_parameters():
                if any(part in name for part in _SHARPENED):
                    weights.mul_(15)
                if name.endswith("sinks"):
                    weights.normal_()
    return model.to(dtype).eval().requires_grad_(False)


@dataclass(frozen=True)
class FamilyCheck:
    """What the check of a family found."""

    attention_error: float
    """The largest difference between attention rebuilt from the trace and the model's own."""
    score_error: float
    """The largest difference from the score by hand."""


def check_family(family: Family) -> FamilyCheck:
    """Compares trace and scores with what the model itself reports."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(3, VOCABULARY, (2, SEQ), generator=generator)
    model = tiny_model(family)
    padding = torch.ones_like(tokens)
    padding[1, :4] = 0
    attention = max(_attention_error(model, tokens, mask) for mask in (None, padding))
    return FamilyCheck(attention, _score_error(tiny_model(family, dtype=torch.float64), tokens))


def own_attention(
    model: PreTrainedModel, tokens: Int[Tensor, "batch seq"], mask: Tensor | None = None
) -> tuple[Float[Tensor, "batch head query key"], ...]:
    """What the model itself reports, layer by layer."""
    return model(input_ids=tokens, attention_mask=mask, output_attentions=True, use_cache=False).attentions


def _attention_error(model: PreTrainedModel, tokens: Tensor, mask: Tensor | None) -> float:
    queries = range(SEQ) if mask is None else range(-4, 0)
    found = trace(model, tokens, queries=queries, attention_mask=mask)
    own = own_attention(model, tokens, mask)
    return max(
        float((layer.attention() - theirs[:, :, list(queries)]).abs().max())
        for layer, theirs in zip(found.layers, own, strict=True)
    )


def _score_error(model: PreTrainedModel, tokens: Int[Tensor, "batch seq"]) -> float:
    scores = score(trace(model, tokens, layers=[0]), TAU)
    errors = []
    for row, text in enumerate(tokens):
        positional, symbolic = score_by_hand(model, text, TAU)
        errors += [scores.each_positional[0, row, :, 0] - positional, scores.each_symbolic[0, row, :, 0] - symbolic]
    return float(torch.stack(errors).abs().max())


def score_by_hand(
    model: PreTrainedModel, text: Int[Tensor, "seq"], tau: float
) -> tuple[Float[Tensor, "head"], Float[Tensor, "head"]]:
    """The definition, on the first layer and the last query: swap two tokens, run again, weigh, compare."""
    last = len(text) - 1
    before = own_attention(model, text[None])[0][0, :, -1].double()  # [head, key]
    seen = (before > 0).any(0).nonzero().flatten().tolist()
    pairs = list(combinations([place for place in seen if place != last], 2))
    swapped = text.repeat(len(pairs), 1)
    for row, (i, j) in zip(swapped, pairs, strict=True):
        row[[i, j]] = row[[j, i]]
    after = own_attention(model, swapped)[0][:, :, -1].double()  # [swap, head, key]
    there, back = torch.tensor(pairs), torch.tensor(pairs).flip(1)
    old = before[:, there].transpose(0, 1)  # [swap, head, 2]
    new = after.take_along_dim(there[:, None], -1)
    weights = ((old[..., 0] - old[..., 1]).abs() / tau).softmax(0)
    positional = torch.cosine_similarity(new, old, -1, eps=0)
    symbolic = torch.cosine_similarity(new, before[:, back].transpose(0, 1), -1, eps=0)
    return (weights * positional).sum(0), (weights * symbolic).sum(0)
