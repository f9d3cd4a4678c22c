"""The frequencies that a configuration asks for, by the published rules and in float64.

Written from the rules and not from a library's code, which is what is checked: linear interpolation (Chen et al. 2023),
dynamic NTK (posts of 2023), YaRN (Peng et al. 2023), LongRoPE (Ding et al. 2024), Llama 3's rule, and Gemma 4's, where
the fast planes turn and the slow ones stand still.
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
        """What lengthens the turned vectors."""
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


def _yarn(rope: Rope, seq: int) -> Frequencies:
    """Planes that turn often in the trained context stay, those that turn less than once are slowed down."""
    del seq

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


def _llama3(rope: Rope, seq: int) -> Frequencies:
    del seq
    plain, low, high = rope.powers(), rope.given["low_freq_factor"], rope.given["high_freq_factor"]
    turns = rope.trained() * plain / (2 * math.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return plain * (kept + (1 - kept) / rope.stretch())


def _proportional(rope: Rope, seq: int) -> Frequencies:
    del seq
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
