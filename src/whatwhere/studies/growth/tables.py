"""Settings and tables of the study ``growth``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.passages import TextSettings

SYMBOLIC, POSITIONAL = "symbolic", "positional"
INDUCTION, PREVIOUS, COPYING = "induction", "previous", "copying"
"""Events besides the two kinds of pure heads."""
ATTENDS = 0.3
"""Mean attention on the looked-for token from which a head counts as an induction or previous-token head."""
COPIES = 0.5
"""Nats by which the second copy of random tokens is easier than the first, from which a model counts as copying."""
_RANGES = {
    "tokens": (1, 10**12), "vocabulary": (257, 1 << 20), "layers": (1, 1000), "heads": (1, 1000),
    "d_model": (4, 1 << 16), "window": (8, 1 << 16), "batch": (1, 1 << 16), "evaluations": (2, 1000),
}  # fmt: skip


@dataclass(frozen=True)
class GrowthSettings(TextSettings):
    """The text, the model and its training."""

    text: Annotated[
        tuple[str, ...],
        "Text files in UTF-8 with commas between them; by default the documentation of Python's standard library.",
    ] = ()
    tokens: Annotated[int, "Tokens to train on; the text is read again when it ends."] = 3_000_000
    vocabulary: Annotated[int, "Tokens of the vocabulary, which is made from the text (byte pairs)."] = 1024
    layers: Annotated[int, "Layers."] = 4
    heads: Annotated[int, "Attention heads per layer."] = 4
    d_model: Annotated[int, "Width of the model."] = 128
    window: Annotated[int, "Tokens of an input."] = 128
    batch: Annotated[int, "Inputs per step."] = 32
    lr: Annotated[float, "Peak learning rate; it rises over a twentieth of the steps, then falls to a tenth."] = 3e-3
    evaluations: Annotated[int, "How often the heads are scored; most evaluations are early."] = 36
    seed: Annotated[int, "Seed of the weights, the batches and the random tokens."] = 0

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise WhatwhereError(
                    f"expected {name} from {least:,} to {most:,}, got {getattr(self, name):,}; change {name}."
                )
        if self.d_model % (2 * self.heads):
            raise WhatwhereError(
                f"expected a d_model that gives each of {self.heads} heads an even share, got {self.d_model}; "
                f"take a multiple of {2 * self.heads}."
            )
        if not 0 < self.lr < 1:
            raise WhatwhereError(f"expected an lr between 0 and 1, got {self.lr}; the default is 0.003.")
        self.check_texts()

    @property
    def tokens_needed(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] (an attribute there)
        """Of each text."""
        return self.tokens

    @property
    def steps(self) -> int:
        """Of the training."""
        return -(-self.tokens // (self.batch * self.window))

    @property
    def model(self) -> str:
        """For titles."""
        return f"A Llama of {self.layers} layers"

    def decisive(self) -> dict[str, Any]:
        """What decides the results: of the texts their content, not their place."""
        from whatwhere.studies.growth.corpus import library_fingerprint

        found = super().decisive()
        return found if self.text else found | {"text": (library_fingerprint(),)}


@dataclass(frozen=True)
class Loss:
    """How well the model predicts, at one evaluation."""

    step: int
    tokens: int
    """Trained on so far."""
    training: float | None
    """Mean loss of the steps since the evaluation before, in nats; none at the first."""
    held_out: float
    """Loss on text that is never trained on."""
    copying: float
    """Loss on the first copy of random tokens less that on the second: what repetition helps."""


@dataclass(frozen=True)
class Detector:
    """The usual detectors of one head at one evaluation."""

    step: int
    layer: int
    head: int
    previous: float
    """Mean attention to the token before, on held-out text."""
    induction: float
    """Mean attention to the token that followed the present one in the first copy of random tokens."""


@dataclass(frozen=True)
class Onset:
    """From which evaluation on something holds to the end."""

    event: str
    """``positional`` or ``symbolic`` (a pure head), ``previous`` or ``induction`` (attention of 0.3 on that token),
    ``copying`` (the model: repetition helps by half a nat)."""
    layer: int | None
    """Of the head; none for the model as a whole."""
    head: int | None
    step: int
    tokens: int
