"""Settings and tables of the study ``prompt``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate
from whatwhere.studies.language_models.passages import TextSettings

MARGIN, ATTENTION = RULES = ("margin", "attention")
"""From what the length is predicted where keys are no longer found; see :mod:`whatwhere.studies.prompt.forecasting`."""
ABLE = 0.5
"""Share of keys found at the shortest length from which there is something to lose; below it, a model has failed."""
FEWEST_LENGTHS = 3


@dataclass(frozen=True)
class PromptSettings(TextSettings):
    """Which prompts are asked."""

    text: Annotated[
        tuple[str, ...], "Text files in UTF-8, with commas between them; - is standard input. They fill the prompts."
    ] = ()
    lengths: Annotated[tuple[int, ...], "Short lengths in tokens, from which the forecast is made; three or more."] = (
        128, 192, 256, 384, 512,
    )  # fmt: skip
    check: Annotated[tuple[int, ...], "Longer lengths, at which the forecast is checked; may be empty."] = (1024, 2048)
    prompts: Annotated[int, "Prompts of each short length."] = 8
    checked: Annotated[int, "Prompts of each longer length."] = 4
    heads: Annotated[int, "How many of the heads that look at the key most are followed."] = 8
    seed: Annotated[int, "Seed of pass keys, other heads and intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, prompts=2, checked=1, heads=1)
        if len(set(self.lengths)) < FEWEST_LENGTHS or min(self.lengths) < 1:
            raise WhatwhereError(
                f"expected {FEWEST_LENGTHS} or more short lengths, got {', '.join(map(str, self.lengths)) or 'none'}; "
                "a trend needs them."
            )
        if self.check and min(self.check) <= max(self.lengths):
            raise WhatwhereError(
                f"expected lengths to check beyond the short ones, which end at {max(self.lengths)}, got "
                f"{min(self.check)}; raise check."
            )
        self.check_texts(least=1)

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt."""
        return max((*self.lengths, *self.check))

    @property
    def tokens_needed(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of each text; several texts follow one another."""
        return 2 * self.longest


@dataclass(frozen=True)
class About:
    """What was measured; one row."""

    family: str
    """The model's class."""
    source: str
    """The names of the texts."""
    begins: str
    """What stands before each prompt; empty for nothing."""
    able: bool
    """Whether it finds keys at the shortest length. If not, nothing is predicted."""
    measured: float
    """Length in tokens at which fewer than half of the keys are found; undefined if that does not happen."""
    longest: int
    """The longest prompt."""


@dataclass(frozen=True)
class KeyHead:
    """A head that looks at the key when it is asked for, at the shortest length."""

    layer: int
    head: int
    attention: float
    """To the token of the key that is to be copied; mean over tokens of the answer and prompts."""
    positional: float
    """The paper's scores, at the tokens from which the answer is given."""
    symbolic: float
    label: str


@dataclass(frozen=True)
class Without:
    """Answers at the shortest length without some heads."""

    which: str
    """``none`` (the model as it is), ``followed`` (the heads that look at the key), ``others`` in the same layers."""
    heads: int
    margin: Estimate
    right: Estimate


@dataclass(frozen=True)
class Answer:
    """The answer to one prompt."""

    length: int
    prompt: int
    """Its number: the same key, and the same place in the text, at each length."""
    place: int
    """Position of the first token of the sentence that tells the key."""
    margin: float
    """Logit of the right token less that of the best other, where it is least over the tokens of the key."""
    right: bool
    """Whether greedy decoding gives the key: the margin is above 0."""
    attention: float
    """Of the followed heads to the key; undefined at lengths that only check the forecast."""


@dataclass(frozen=True)
class LengthRow:
    """All prompts of one length."""

    length: int
    short: bool
    """Whether the forecast is made from it; if not, it checks it."""
    margin: Estimate
    right: Estimate
    attention: Estimate


@dataclass(frozen=True)
class Forecast:
    """The length at which the model is predicted to fail, from short prompts alone."""

    rule: str
    """``margin`` or ``attention``."""
    length: Estimate
    """In tokens, where the mean margin reaches 0; undefined: no failure is predicted. Interval over prompts."""
    slope: float
    """Change of the mean margin (of the log-odds of attention) when the length doubles."""
    off: float
    """By how many doublings the forecast is off; if no failure was seen, by how many it lies before the longest prompt.

    Undefined if the model is not able, or nothing was checked.
    """
