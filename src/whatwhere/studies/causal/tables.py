"""Settings and tables of the study ``causal``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate
from whatwhere.studies.language_models.tables import HeadsSettings

LABELS = ("positional", "symbolic", "mixed")
ABLATE, CLOSE_FAST, CLOSE_SLOW, MASK_FAR = CHANGES = ("ablate", "close fast", "close slow", "mask far")
TEXT, INDUCTION, BACK, NAME = "text", "induction", "back", "name"
"""What the model does: predict a text, repeat random tokens, repeat by position alone, recall a name."""
FEWEST = 2
"""Heads of a label without which it is left out."""


@dataclass(frozen=True)
class CausalSettings:
    """Which heads are changed, how, and on what the model is measured."""

    text: Annotated[tuple[str, ...], "Text files in UTF-8, with commas between them; - is standard input."] = ()
    inputs: Annotated[int, "Windows of the texts at most."] = 12
    window: Annotated[int, "Tokens of each window."] = 128
    heads: Annotated[int, "Heads of a label that are changed together, at most."] = 10
    draws: Annotated[int, "Random draws of other heads in the same layers, for each label."] = 3
    prompts: Annotated[int, "Inputs of each kind besides the text."] = 12
    far: Annotated[int, "Tokens of text between a name and the question for it."] = 64
    sizes: Annotated[tuple[int, ...], "Window sizes of the paper's one-hop tasks; may be empty."] = (4,)
    recent: Annotated[int, "Keys that a query still sees when far keys are masked, besides the first."] = 8
    beyond: Annotated[bool, "Label heads by their scores beyond the first token, not by the paper's scores."] = False
    tau: Annotated[float, "Temperature of the weights of swaps."] = 1e-4
    gamma: Annotated[float, "Tolerance of the labels."] = 0.1
    seed: Annotated[int, "Seed of random tokens, draws and intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=2, heads=1, draws=1, prompts=2, far=1, recent=1)
        if min(self.sizes, default=1) < 1:
            raise WhatwhereError(f"expected sizes of 1 or more, got {min(self.sizes)}; leave it out.")
        self.scoring.check_texts(least=1)

    @cached_property
    def scoring(self) -> HeadsSettings:
        """How heads get their labels: the study ``heads`` on the same windows."""
        return HeadsSettings(
            text=self.text, inputs=self.inputs, window=self.window, tau=self.tau, gamma=self.gamma, seed=self.seed
        )

    def decisive(self) -> dict[str, Any]:
        """What decides the results: of the texts their content, not their place."""
        return asdict(self) | {"text": self.scoring.decisive()["text"]}


@dataclass(frozen=True)
class Member:
    """One head of a set that is changed together."""

    label: str
    """Whose set it is: ``positional``, ``symbolic``, ``mixed``."""
    draw: int | None
    """None for heads of the label; otherwise which random draw of other heads in the same layers."""
    layer: int
    head: int
    own_label: str
    """The label of this head itself."""
    positional: float
    symbolic: float
    planes: int
    """Its rotary planes."""


@dataclass(frozen=True)
class Ability:
    """What the model can do when nothing is changed."""

    probe: str
    """``text``, ``induction``, ``back``, ``name``, or a one-hop task with its size, as ``number-4``."""
    tokens: int
    """Tokens that are predicted, over all inputs."""
    loss: Estimate
    """In nats per token; over inputs."""
    right: Estimate
    """Share of tokens (of a prompt: of inputs) for which the most likely answer is right."""
    chance: float
    """What guessing gets; undefined for a text."""
    able: bool
    """Whether the model does better than chance. What it cannot do, no change is measured on."""


@dataclass(frozen=True)
class Run:
    """One input of a probe with one set of heads changed."""

    label: str | None
    """Whose set is changed; none if nothing is."""
    draw: int | None
    change: str | None
    """``ablate``, ``close fast``, ``close slow``, ``mask far``; none for the model as it is."""
    probe: str
    item: int
    loss: float
    right: float

    @property
    def condition(self) -> Condition:
        """What was changed."""
        return self.label, self.draw, self.change


Condition = tuple[str | None, int | None, str | None]


@dataclass(frozen=True)
class Effect:
    """What a change of a label's heads does to a probe, and what the same change of other heads does."""

    label: str
    change: str
    probe: str
    loss: Estimate
    """Increase of the loss, in nats per token."""
    control: Estimate
    """The same for other heads in the same layers: the mean over draws."""
    excess: Estimate
    """The difference of the two, input by input."""
    right: Estimate
    """Change of the share of right answers."""
    draws: int
    beaten: int
    """Draws whose increase is smaller."""
