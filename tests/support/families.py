"""The families that are read, each as a tiny random model, and the check that each passes.

For every family the attention rebuilt from our trace is compared with the attention that the model itself reports, with
and without padding; and our score of the first layer with the score by hand: tokens are swapped, the model runs again,
and the definition is applied to what it reports. (At the first layer, swapping tokens is swapping keys.) The tests hold
the errors against their bounds, ``python -m benchmarks adapters`` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import torch
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
_LOCAL = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}


@dataclass(frozen=True)
class Family:
    """How to build a tiny model of a family."""

    model_type: str
    features: str
    """What is special about its attention, as the table says it."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def _scaled(kind: str, features: str, **settings: Any) -> Family:
    stretched = {"rope_type": kind, "rope_theta": 1e4, **settings}
    return Family("llama", features, {"rope_parameters": stretched, "max_position_embeddings": 8})


FAMILIES: dict[str, Family] = {
    "Llama": Family("llama", "grouped keys"),
    "Llama, linear scaling": _scaled("linear", "frequencies divided", factor=2.0),
    "Llama, dynamic scaling": _scaled("dynamic", "frequencies depend on the length", factor=2.0),
    "Llama, YaRN": _scaled(
        "yarn", "stretched frequencies, lengthened vectors", factor=4.0, original_max_position_embeddings=8
    ),
    "Llama 3 scaling": _scaled(
        "llama3", "stretched frequencies", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=8,
    ),
    "Mistral": Family("mistral", "grouped keys, sliding window", {"sliding_window": 5}),
    "Qwen2": Family(
        "qwen2", "grouped keys, biases, sliding window in some layers",
        {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    "Qwen3": Family("qwen3", "grouped keys, normalised queries and keys", {"head_dim": 16}),
    "Gemma 2": Family(
        "gemma2", "grouped keys, capped logits, sliding window in some layers",
        {"head_dim": 16, "attn_logit_softcapping": 2.0, **_LOCAL},
    ),
    "Gemma 3": Family(
        "gemma3_text", "grouped keys, two sets of frequencies, sliding window in some layers",
        {"head_dim": 16, **_LOCAL},
    ),
    "Phi": Family("phi", "half of each head turns", {"partial_rotary_factor": 0.5}),
    "Phi-3": Family("phi3", "grouped keys, joint projection, sliding window", {"sliding_window": 5}),
    "OLMo 2": Family("olmo2", "grouped keys, normalised queries and keys"),
    "SmolLM3": Family("smollm3", "grouped keys, layers without rotation", {"no_rope_layers": [1, 0]}),
    "GPT-NeoX, Pythia": Family("gpt_neox", "a quarter of each head turns, joint projection", {"rotary_pct": 0.25}),
    "GPT-J": Family("gptj", "interleaved planes, half of each head turns, an adapter of its own", {"rotary_dim": 4}),
    "Cohere": Family("cohere", "grouped keys, interleaved planes"),
    "GLM": Family("glm", "grouped keys, interleaved planes, half of each head turns", {"head_dim": 16}),
    "GPT-OSS": Family(
        "gpt_oss", "grouped keys, sinks, YaRN, sliding window in some layers",
        {"head_dim": 16, "num_local_experts": 2, "num_experts_per_tok": 1, **_LOCAL},
    ),
}  # fmt: skip


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
        if family.model_type == "gpt_oss":
            model.set_experts_implementation("eager")  # the usual one knows no float64
        with torch.no_grad():
            for name, weights in model.named_parameters():
                if any(part in name for part in ("q_proj.weight", "k_proj.weight", "qkv", "query_key_value.weight")):
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
