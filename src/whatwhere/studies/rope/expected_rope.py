"""The expected rotation of each layer, from the configuration only, by the published rules and in float64.

It is written from the rules, independent of the libraries that are checked: linear interpolation (Chen et al. 2023),
dynamic NTK (posts of 2023), YaRN (Peng et al. 2023), LongRoPE (Ding et al. 2024), Llama 3's rule, and Gemma 4's, which
rotates only the fast planes.

The configuration has most of it. The pairing of coordinates, the scale and the layers without rotation are in part
conventions of a family; they are listed here. For other families, these are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

Frequencies = Float[ndarray, "plane"]


@dataclass(frozen=True)
class Rope:
    """What a configuration says about the rotation of a layer."""

    base: float
    head: int
    """Coordinates of a head (of the part that may turn, if keys are latent)."""
    width: int
    """Coordinates that turn."""
    kind: str
    """The rule of scaling: ``default`` for none."""
    given: Mapping[str, Any]
    """Its numbers."""
    longest: int
    """Positions that the model is made for."""
    denominator: int | None = None
    """Of the exponent, if it is not the width."""

    def powers(self) -> Frequencies:
        """Without scaling: powers of the base."""
        return self.base ** (-np.arange(0, self.width, 2) / (self.denominator or self.width))

    def frequencies(self, seq: int) -> Frequencies | None:
        """As scaled for an input of some length; None for a rule that is not known here."""
        return RULES[self.kind](self, seq) if self.kind in RULES else None

    def factor(self) -> float:
        """The factor of the rotated vectors."""
        if self.kind not in ("yarn", "longrope"):
            return 1.0
        stretch, given = self.stretch(), self.given.get("attention_factor")
        if given is not None:
            return float(given)
        if self.kind == "longrope":
            return math.sqrt(1 + math.log(stretch) / math.log(self.trained())) if stretch > 1 else 1.0
        above, below = self.given.get("mscale"), self.given.get("mscale_all_dim")
        return temperature(stretch, above) / temperature(stretch, below) if above and below else temperature(stretch)

    def stretch(self) -> float:
        """By how much the context is longer than in training."""
        return float(self.given.get("factor") or self.longest / self.trained())

    def trained(self) -> float:
        """Positions of the training."""
        return float(self.given.get("original_max_position_embeddings") or self.longest)


def temperature(stretch: float, weight: float = 1.0) -> float:
    """YaRN's factor of queries and of keys (its equation 22)."""
    return 0.1 * weight * math.log(stretch) + 1 if stretch > 1 else 1.0


def _dynamic(rope: Rope, seq: int) -> Frequencies:
    stretch, over = rope.stretch(), max(seq, rope.longest) / rope.longest
    base = rope.base * (stretch * over - (stretch - 1)) ** (rope.width / (rope.width - 2))
    return base ** (-np.arange(0, rope.width, 2) / (rope.denominator or rope.width))


def _yarn(rope: Rope, _: int) -> Frequencies:
    """Planes with many turns in the trained context do not change; those with less than one turn are slowed down."""

    def plane(turns: float) -> float:
        return rope.width * math.log(rope.trained() / (turns * 2 * math.pi)) / (2 * math.log(rope.base))

    low, high = plane(rope.given.get("beta_fast") or 32), plane(rope.given.get("beta_slow") or 1)
    if rope.given.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rope.width - 1)
    ramp = np.clip((np.arange(rope.width // 2) - low) / max(high - low, 1e-3), 0, 1)
    return rope.powers() * (1 - ramp + ramp / rope.stretch())


def _longrope(rope: Rope, seq: int) -> Frequencies:
    factors = rope.given["long_factor" if seq > rope.trained() else "short_factor"]
    return rope.powers() / np.asarray(factors, dtype=np.float64)


def _llama3(rope: Rope, _: int) -> Frequencies:
    plain, low, high = rope.powers(), rope.given["low_freq_factor"], rope.given["high_freq_factor"]
    turns = rope.trained() * plain / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return plain * (kept + (1 - kept) / rope.stretch())


def _proportional(rope: Rope, _: int) -> Frequencies:
    turning = int(rope.given.get("partial_rotary_factor", 1.0) * rope.width // 2)
    return np.where(np.arange(rope.width // 2) < turning, rope.powers(), 0.0) / (rope.given.get("factor") or 1.0)


RULES: dict[str, Callable[[Rope, int], Frequencies]] = {
    "default": lambda rope, _: rope.powers(),
    "linear": lambda rope, _: rope.powers() / rope.stretch(),
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}


@dataclass(frozen=True)
class Convention:
    """What a family does that is not in its configuration."""

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
    """The expected rotation of one layer; None for what is unknown."""

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


@dataclass(frozen=True, eq=False)
class MeasuredRope(RopeFacts):
    """The measured rotation of one layer."""

    frequencies: Frequencies
    pairing: str
    scale: float
    first: int
    """The first coordinate that turns."""
    allowed: float
    """How far a frequency may be off; 0 where a table of the model fits, which has all digits."""


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
    if pattern := getattr(config, "no_rope_layers", None):  # despite its name, 1 means that there is a rotation
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
