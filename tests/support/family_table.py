"""The families that are read and those that are refused, each as the settings of a tiny random model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LOCAL = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8,
    "num_key_value_heads": 4,
}  # fmt: skip
_MLA = {
    **_LATENT, "moe_intermediate_size": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1,
}  # fmt: skip
_DELTA = {
    "num_hidden_layers": 3, "layer_types": ["full_attention", "linear_attention", "full_attention"],
    "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
}  # fmt: skip


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
    "Gemma 3n": Family(
        "gemma3n_text", "grouped keys, two sets of frequencies, no scale",
        {"head_dim": 16, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 50, "num_kv_shared_layers": 0,
         "laurel_rank": 4, "activation_sparsity_pattern": [0.0, 0.0], **_LOCAL},
    ),
    "Gemma 4": Family(
        "gemma4_text", "grouped keys, two widths of heads, slow planes that stand still, no scale",
        {"head_dim": 16, "global_head_dim": 32, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 50,
         **_LOCAL},
    ),
    "Phi-4-mini": Family(
        "phi3", "grouped keys, joint projection, three quarters of each head turn, longrope",
        {"head_dim": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "original_max_position_embeddings": 8,
         "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 0.75,
            "original_max_position_embeddings": 8, "short_factor": [1.0] * 6, "long_factor": [1.0, 1.1, 1.3, 2, 3, 4],
         }},
    ),
    "OLMo 3": Family("olmo3", "normalised queries and keys, sliding window in some layers", _LOCAL),
    "Cohere 2": Family("cohere2", "interleaved planes, layers without rotation, sliding window in some layers", _LOCAL),
    "EXAONE 4": Family("exaone4", "grouped keys, layers without rotation, sliding window in some layers", _LOCAL),
    "Granite": Family("granite", "grouped keys, a scale of its own", {"attention_multiplier": 0.2}),
    "ERNIE 4.5": Family("ernie4_5", "grouped keys, interleaved planes", {"head_dim": 16}),
    "Llama 4": Family(
        "llama4_text", "complex tables, interleaved planes, layers without rotation, chunks, experts",
        {"head_dim": 8, "intermediate_size_mlp": 48, "num_local_experts": 2, "no_rope_layers": [1, 0],
         "attention_chunk_size": 7, "layer_types": ["chunked_attention", "full_attention"]},
    ),
    "DeepSeek-V2": Family("deepseek_v2", "latent keys (MLA), complex tables, half of each head turns, experts", _MLA),
    "DeepSeek-V3": Family("deepseek_v3", "latent keys (MLA), half of each head turns, experts", _MLA),
    "DeepSeek-V3, YaRN": Family(
        "deepseek_v3", "latent keys (MLA), stretched frequencies, a scale of its own, experts",
        {**_MLA, "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16,
            "mscale": 1.0, "mscale_all_dim": 1.0,
        }},
    ),
    "LongCat-Flash": Family(
        "longcat_flash", "latent keys (MLA), two attentions in a layer, experts",
        {**_LATENT, "head_dim": 8, "num_layers": 1, "ffn_hidden_size": 48, "expert_ffn_hidden_size": 16,
         "n_routed_experts": 4, "moe_topk": 2, "zero_expert_num": 1},
    ),
    "AFMoE": Family(
        "afmoe", "grouped keys, layers without rotation, gated outputs, experts",
        {"head_dim": 8, "num_dense_layers": 1, **_EXPERTS, **_LOCAL},
    ),
    "Qwen3 MoE": Family("qwen3_moe", "grouped keys, normalised queries and keys, experts", {"head_dim": 8, **_EXPERTS}),
    "Mixtral": Family("mixtral", "grouped keys, experts", {"num_local_experts": 2}),
    "GLM-4.5": Family(
        "glm4_moe", "grouped keys, half of each head turns, experts",
        {"head_dim": 8, "n_routed_experts": 4, "first_k_dense_replace": 1, **_EXPERTS},
    ),
    "Qwen3-Next": Family(
        "qwen3_next", "layers that do not attend, a quarter of each head turns, gated outputs, experts",
        {"head_dim": 16, **_EXPERTS, "shared_expert_intermediate_size": 16, **_DELTA},
    ),
    "Qwen3.5": Family(
        "qwen3_5_text", "layers that do not attend, a quarter of each head turns, gated outputs",
        {"head_dim": 16, **_DELTA},
    ),
    "LFM2": Family(
        "lfm2", "grouped keys, layers that do not attend",
        {"num_hidden_layers": 3, "layer_types": ["full_attention", "conv", "full_attention"], "block_ff_dim": 48,
         "block_multiple_of": 8},
    ),
}  # fmt: skip
REFUSED: dict[str, tuple[Family, str]] = {
    "Doge": (Family("doge", ""), "adds to each logit a number"),
    "Jamba": (
        Family("jamba", "", {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2, "mamba_d_state": 4}),
        "leaves the order of tokens to recurrent layers",
    ),
    "Kimi Linear": (Family("kimi_linear", ""), "leaves the order of tokens to recurrent layers"),
    "DeepSeek-V3.2": (Family("deepseek_v32", "", _MLA), "chooses by their content which keys a query sees"),
    "DeepSeek-V4": (Family("deepseek_v4", ""), "stand for several tokens each"),
    "Falcon": (Family("falcon", ""), "does not go through the attention interface"),
}
"""Families that are refused, and a part of the reason."""
