"""What the rotation of each layer should be, from the configuration alone.

A configuration says most of it. How coordinates are paired, which scale is meant and which layers have no rotation are
in part conventions of a family; they are listed here. Of a family that is not listed, these are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whatwhere.studies.rope.scaling_rules import Frequencies, Rope, temperature


@dataclass(frozen=True)
class Convention:
    """What a family does without saying so in its configuration."""

    pairing: str = "half"
    still: str = ""
    """The kind of layers that have no rotation, if the model has windows at all."""
    scale: float | None = None
    """If it is not one over the square root of the head's width."""


_WINDOWED = "full_attention"
CONVENTIONS: dict[str, Convention] = {
    **dict.fromkeys(
        (
            "llama", "mistral", "mixtral", "ministral", "qwen2", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_5_text",
            "gemma", "gemma2", "gemma3_text", "phi", "phi3", "olmo", "olmo2", "olmo3", "smollm3", "gpt_neox", "gpt_oss",
            "granite", "stablelm", "starcoder2", "glm4_moe", "lfm2", "deepseek_v3", "longcat_flash", "persimmon",
            "arcee", "apertus", "seed_oss", "olmoe", "nemotron",
        ),
        Convention(),
    ),
    **dict.fromkeys(
        ("gptj", "cohere", "glm", "glm4", "ernie4_5", "llama4_text", "deepseek_v2", "helium"), Convention("interleaved")
    ),
    "cohere2": Convention("interleaved", still=_WINDOWED),
    "afmoe": Convention(still=_WINDOWED),
    "exaone4": Convention(still=_WINDOWED),
    "gemma3n_text": Convention(scale=1.0),
    "gemma4_text": Convention(scale=1.0),
}  # fmt: skip
"""By ``model_type``. The pairing is that of the vectors which enter attention (DeepSeek-V3 sorts its own first)."""


@dataclass(frozen=True, eq=False)
class RopeFacts:
    """The rotation of one layer, measured or expected; None is what an expectation does not say."""

    layer: int
    kind: str
    width: int
    """Coordinates of a head."""
    frequencies: Frequencies | None
    """Empty without rotation."""
    pairing: str | None
    factor: float
    scale: float | None
    rope: Rope | None
    """What the configuration says, to look for causes."""


def expected_layer(config: Any, layer: int, seq: int) -> RopeFacts:
    """What the configuration of a text model asks for in a layer.

    Some rules of scaling depend on ``seq``, the tokens of the input.
    """
    convention = CONVENTIONS.get(config.model_type)
    kind = kind_of(config, layer)
    own = config.per_layer_config[layer] if getattr(config, "is_heterogeneous", False) else config
    head = getattr(own, "head_dim", None) or own.hidden_size // own.num_attention_heads
    latent = getattr(own, "qk_rope_head_dim", None)
    width = getattr(own, "qk_nope_head_dim", 0) + latent if latent else head
    rope = _rope(own, kind, latent or head)
    frequencies, pairing, factor = None, None, 1.0
    turns = _turns(own, convention, layer, kind)
    if turns is not None and rope is not None:
        frequencies = rope.frequencies(seq) if turns else rope.powers()[:0]
        pairing = None if convention is None else convention.pairing if turns else "none"
        factor = rope.factor() if turns else 1.0
    return RopeFacts(layer, kind, width, frequencies, pairing, factor, _scale(own, convention, width, rope), rope)


def kind_of(config: Any, layer: int) -> str:
    """What the configuration calls a layer; empty if it has no kinds."""
    kinds = getattr(config, "layer_types", None)
    return str(kinds[layer]) if kinds else ""


def _turns(config: Any, convention: Convention | None, layer: int, kind: str) -> bool | None:
    """Whether a layer has a rotation; None if nothing says so."""
    if pattern := getattr(config, "no_rope_layers", None):  # 1 where there is one, whatever the name says
        return bool(pattern[layer])
    if convention is None:
        return None
    return not (convention.still and convention.still == kind and getattr(config, "sliding_window", None) is not None)


def _rope(config: Any, kind: str, head: int) -> Rope | None:
    longest = int(config.max_position_embeddings)
    if config.model_type == "gptj":  # its base is fixed
        return Rope(10000.0, head, config.rotary_dim or head, "default", {}, longest)
    given = getattr(config, "rope_parameters", None) or {}
    given = given.get(kind, given)
    if "rope_theta" not in given:
        return None
    rule = given.get("rope_type", "default")
    share = 1.0 if rule == "proportional" else given.get("partial_rotary_factor") or 1.0
    return Rope(float(given["rope_theta"]), head, int(head * share) // 2 * 2, rule, given, longest)


def _scale(config: Any, convention: Convention | None, width: int, rope: Rope | None) -> float | None:
    if (multiplier := getattr(config, "attention_multiplier", None)) is not None:
        return float(multiplier)
    if (scalar := getattr(config, "query_pre_attn_scalar", None)) is not None:
        return float(scalar) ** -0.5
    if convention is None:
        return None
    if convention.scale is not None:
        return convention.scale
    weight = rope.given.get("mscale_all_dim") if rope is not None and hasattr(config, "qk_nope_head_dim") else None
    longer = temperature(rope.stretch(), weight) ** 2 if rope is not None and weight and rope.kind != "default" else 1.0
    return width**-0.5 * longer
