"""Settings and tables of the study ``cache``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate
from whatwhere.studies.language_models.passages import TextSettings

POSITIONAL, RANDOM = "positional", "random"
RANKINGS = (POSITIONAL, "both", "far", "induction", "paper", RANDOM)
"""By what KV heads are put in order; each gives a number that grows with the need for the whole cache.

``positional``: 1 less the positional score beyond the first token. ``far``: attention to keys that a streamed head
forgets. ``both``: their product. ``induction``: the induction mass. ``paper``: 1 less the paper's positional score.
"""
FULL = "full"
"""Stands for a ranking where nothing is streamed."""
ABLE = 0.5
"""Passkey accuracy with the full cache from which the task says something about caches."""


@dataclass(frozen=True)
class CacheSettings(TextSettings):
    """What is streamed, and on what the damage is measured."""

    text: Annotated[
        tuple[str, ...], "Text files in UTF-8, with commas between them; - is standard input. At least one."
    ] = ()
    window: Annotated[int, "Tokens of each window of a text, and of each passkey prompt."] = 512
    inputs: Annotated[int, "Windows of each text on which the loss is measured."] = 2
    scored: Annotated[int, "Windows of each text, before those, on which heads are scored."] = 1
    budgets: Annotated[tuple[float, ...], "Shares of KV heads that keep only sink and recent tokens."] = (
        0.25, 0.5, 0.75,
    )  # fmt: skip
    sink: Annotated[int, "First tokens that a streamed KV head keeps."] = 4
    recent: Annotated[int, "Last tokens that a streamed KV head keeps, the query's own included."] = 64
    rankings: Annotated[
        tuple[str, ...],
        "Orders of KV heads to compare; the first is written as the policy: positional (beyond the first token), both "
        "(positional and far), far (attention), induction, paper, random.",
    ] = RANKINGS
    draws: Annotated[int, "Random orders, if random is among the rankings."] = 2
    prompts: Annotated[int, "Passkey prompts; 0 leaves them out."] = 8
    seed: Annotated[int, "Seed of random orders, pass keys, repeated tokens and intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=1, scored=1, recent=1, draws=1, sink=0, prompts=0)
        if self.window < self.sink + self.recent + 2:
            raise WhatwhereError(
                f"expected windows of at least {self.sink + self.recent + 2} tokens, so that a streamed head forgets "
                f"some of them, got {self.window}; raise window, or lower recent."
            )
        if not self.budgets or not all(0 < budget <= 1 for budget in self.budgets):
            raise WhatwhereError(f"expected budgets above 0 and up to 1, got {self.budgets}; 0.5 streams half.")
        if not self.rankings or len(set(self.rankings)) < len(self.rankings) or not set(self.rankings) <= set(RANKINGS):
            raise WhatwhereError(
                f"expected rankings of {', '.join(RANKINGS)}, each once, got {', '.join(self.rankings) or 'none'}."
            )
        self.check_texts(least=1)

    @property
    def tokens_needed(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of each text."""
        return self.window * (self.scored + self.inputs)


@dataclass(frozen=True)
class About:
    """What was measured; one row."""

    family: str
    """The model's class."""
    source: str
    """The names of the texts."""
    begins: str
    """What stands before the text in every window; empty for nothing."""
    layers: int
    """That attend."""
    kv_heads: int
    """KV heads of a layer."""
    group: int
    """Query heads that share a KV head."""
    tokens: int
    """Of each window."""
    loss: Estimate
    """With the full cache, in nats per token, from the first token at which a streamed head forgets; over windows."""
    passkey: Estimate
    """Accuracy with the full cache; undefined without prompts."""


@dataclass(frozen=True)
class HeadScore:
    """One query head, on the scored windows."""

    layer: int
    head: int
    kv_head: int
    positional: float
    """The paper's scores."""
    symbolic: float
    rest_positional: float
    """Scores of swaps among the keys after the first token."""
    rest_symbolic: float
    far: float
    """Attention to keys that a streamed head forgets."""
    induction: float
    """On random tokens that repeat: attention to what followed last time."""
    keys: int
    """Keys that the last query sees: fewer than the window, if the layer has a window of its own."""


@dataclass(frozen=True)
class Need:
    """One KV head in one ranking."""

    ranking: str
    draw: int
    """Number of the random order; 0 for all others."""
    layer: int
    kv_head: int
    need: float
    """Mean over the query heads of its group; undefined where a score is, and then it is streamed last."""
    place: int
    """Its place in the order, from 0, which is streamed first."""


@dataclass(frozen=True)
class WindowLoss:
    """The loss on one window with some KV heads streamed."""

    ranking: str
    """``full`` for the full cache."""
    draw: int
    budget: float
    input: int
    """Number of the window, counted over all texts."""
    text: str
    loss: float
    """In nats per token."""


@dataclass(frozen=True)
class PromptAnswer:
    """The answer to one passkey prompt with some KV heads streamed."""

    ranking: str
    draw: int
    budget: float
    input: int
    """Number of the prompt."""
    place: int
    """Position of the first token of the sentence with the pass key."""
    right: bool
    """Whether the most likely next token is the right one at each token of the key."""
    loss: float
    """In nats per token of the key."""


@dataclass(frozen=True)
class Policy:
    """What one ranking costs at one budget."""

    ranking: str
    budget: float
    streamed: int
    """KV heads that keep only sink and recent tokens."""
    cache: float
    """Keys that are kept at the end of a window, against the full cache."""
    above: Estimate
    """Loss above that of the full cache, in nats per token; over windows."""
    passkey: Estimate
    """Accuracy; undefined if the model cannot do it with the full cache."""
    key_loss: Estimate
    """Loss on the tokens of the key, in nats; over prompts."""


@dataclass(frozen=True)
class Comparison:
    """Two rankings at one budget, window by window."""

    budget: float
    ranking: str
    other: str
    difference: Estimate
    """Loss by ``ranking`` less loss by ``other``: below 0, the first is better."""
