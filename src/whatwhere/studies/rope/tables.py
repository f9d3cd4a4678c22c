"""Settings and tables of the study ``rope``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

from whatwhere.errors import WhatwhereError

LEAST_TOKENS = 4
CONFIGURATION = "configuration"
"""What a difference is against, if not against another model."""
MOST_TOKENS = 2**17
"""Longer inputs would take hours; scalings show at far fewer tokens."""


@dataclass(frozen=True)
class RopeSettings:
    """What to compare with, and on how many tokens."""

    other: Annotated[str | None, "Another checkpoint or a GGUF file of the same model, to compare with."] = None
    tokens: Annotated[int | None, "Tokens of the input; by default 256, or what the model is made for if less."] = None
    seed: Annotated[int, "Seed of the random tokens."] = 0

    def __post_init__(self) -> None:
        if self.tokens is not None and self.tokens < LEAST_TOKENS:
            raise WhatwhereError(
                f"expected at least {LEAST_TOKENS} tokens, or there is no angle to measure; got {self.tokens}."
            )
        if self.tokens is not None and self.tokens > MOST_TOKENS:
            raise WhatwhereError(f"expected at most {MOST_TOKENS:,} tokens, got {self.tokens:,}; lower tokens.")

    @cached_property
    def opened(self) -> Any:
        """The other model, opened once; None without one."""
        from whatwhere.studies.subject import ROTARY

        return None if self.other is None else ROTARY.open(self.other)

    def decisive(self) -> dict[str, Any]:
        """What decides the results: of the other model its weights and configuration, not its place."""
        return asdict(self) | {"other": None if self.opened is None else self.opened.inputs["model"]}


@dataclass(frozen=True)
class About:
    """What was measured; one row for each model."""

    model: str
    family: str
    tokens: int
    angle_error: float
    """How far an angle at the last position may be off where no table of the model fits, in radians."""
    error: float
    """The largest difference of a rebuilt output from the layer's own, against the largest value."""
    judged: bool
    """Whether pairing, scale and layers without rotation are known for this family; frequencies always are."""


@dataclass(frozen=True)
class LayerRope:
    """The rotation of one layer, as measured."""

    model: str
    layer: int
    kind: str
    """As the configuration names it; empty if it does not."""
    width: int
    """Coordinates of a head."""
    planes: int
    """Planes that turn: two coordinates each; 0 without rotation."""
    first: int
    """The first coordinate that turns."""
    pairing: str
    """half, interleaved, other, or none without rotation."""
    base: float
    """The base of which all frequencies are powers; NaN if there is none (scaled frequencies)."""
    factor: float
    """What lengthens the turned vectors (YaRN)."""
    scale: float
    """What multiplies the products of queries and keys."""
    keys_similarity: float
    """The cosine between its keys and those of the other model, nothing turned; NaN without another."""


@dataclass(frozen=True)
class PlaneRope:
    """The frequency of one plane, measured and expected."""

    model: str
    layer: int
    plane: int
    """From 1, the fastest of a plain rotation."""
    measured: float
    """Radians per token."""
    expected: float
    """From the configuration; NaN if it does not say."""


@dataclass(frozen=True)
class Difference:
    """Something that is not as it should be."""

    model: str
    against: str
    """``configuration``, or the name of the other model."""
    layer: int
    what: str
    """rotation, width, pairing, frequencies, lengthening or scale."""
    found: str
    expected: str
    cause: str
