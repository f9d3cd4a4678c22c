"""The shape of a model: what the paper fixes, what it leaves open (GPT-J's own defaults), and what a study may vary."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import parse

ACTIVATIONS = ("gelu", "gelu_tanh")


@dataclass(frozen=True)
class ModelConfig:
    """A GPT-J style decoder; the defaults are the paper's (Appendix "GPT-J architecture and training details")."""

    vocab_size: int
    """136 for the number task, 128 for the letter task."""
    layers: int = 12
    heads: int = 1
    """Heads per layer; the paper has one, so that a layer is a head."""
    d_model: int = 128
    d_mlp: int = 512
    rotary_dim: int | None = None
    """Rotated coordinates per head, from the first; None rotates all of them (64 planes, as in the paper's table)."""
    rope_base: float | None = 10000.0
    """The base of the frequencies; None switches the rotation off (NoPE)."""
    closed_planes: tuple[tuple[int, ...], ...] = ()
    """Per layer, the frequency IDs (from 1) that may not contribute to the logits; empty leaves all planes open."""
    dropout: float = 0.1
    """On the embeddings and on the output of each block."""
    attention_dropout: float = 0.1
    """On the attention weights; the authors use 0.1 there too."""
    activation: str = "gelu"
    """GELU of the MLP: ``gelu`` is exact, as the authors trained it; ``gelu_tanh`` is GPT-J's own approximation."""
    nope_from: int | None = None
    """The first layer without rotation, and all after it (an option of the authors' code); None rotates every layer."""
    init_std: float = 0.02

    def __post_init__(self) -> None:
        for name in ("vocab_size", "layers", "heads", "d_model", "d_mlp"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise WhatwhereError(f"expected {name} as a whole number above 0, got {value!r}.")
        if self.d_model % self.heads:
            raise WhatwhereError(f"expected d_model to be a multiple of heads ({self.heads}), got {self.d_model}.")
        if not 0 <= self.rotated <= self.d_head or self.rotated % 2:
            raise WhatwhereError(
                f"expected an even rotary_dim between 0 and the head's width {self.d_head}, got {self.rotated}."
            )
        if self.rope_base is not None and not self.rope_base > 0:
            raise WhatwhereError(f"expected a rope_base above 0, or None for no rotation, got {self.rope_base}.")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise WhatwhereError(f"expected {name} of at least 0 and below 1, got {getattr(self, name)}.")
        if self.activation not in ACTIVATIONS:
            raise WhatwhereError(f"expected an activation of {', '.join(ACTIVATIONS)}, got {self.activation!r}.")
        if self.nope_from is not None and not 0 <= self.nope_from <= self.layers:
            raise WhatwhereError(f"expected nope_from between 0 and {self.layers} (layers), got {self.nope_from}.")
        if not self.init_std >= 0:
            raise WhatwhereError(f"expected init_std of at least 0, got {self.init_std}.")
        if self.closed_planes and len(self.closed_planes) != self.layers:
            raise WhatwhereError(
                f"expected closed_planes for each of the {self.layers} layers (an empty list closes none), "
                f"got {len(self.closed_planes)} entries."
            )
        for layer, planes in enumerate(self.closed_planes):
            wrong = [plane for plane in planes if not 1 <= plane <= self.rotated // 2]
            if wrong:
                raise WhatwhereError(
                    f"expected closed_planes with IDs from 1 to {self.rotated // 2}, got {wrong[0]} in layer {layer}."
                )

    @property
    def d_head(self) -> int:
        """The width of one head."""
        return self.d_model // self.heads

    @property
    def rotated(self) -> int:
        """How many coordinates of a head are rotated."""
        return self.d_head if self.rotary_dim is None else self.rotary_dim

    @property
    def parameters(self) -> int:
        """How many numbers the model holds: 2,405,256 for the number task, 2,403,200 for the letter task."""
        inner = 3 * self.d_model + self.d_mlp
        block = 2 * self.d_model + inner * self.d_model + self.d_mlp + (self.d_model + self.d_mlp + 1) * self.d_model
        ends = 2 * self.vocab_size * self.d_model + self.vocab_size + 2 * self.d_model
        return self.layers * block + ends

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: object) -> ModelConfig:
        """The inverse of :meth:`to_dict`; refuses fields that are unknown or missing, and impossible values."""
        return parse(cls, content, "the model's configuration")
