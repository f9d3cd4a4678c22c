"""Settings and tables of the study ``forecast``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.studies.subject import TRAINED

THRESHOLDS = (0.9, 0.5)
"""A model breaks where its accuracy falls below one of these."""
SOLVES = 0.95
"""The accuracy at the training length from which a variant counts."""
CARRIED, CHAIN, DISPERSION = "carried", "chain", "dispersion"
"""Methods that look at the model: contents that change with the further keys, contents that stay (as in the study
``length``), and the closed form of softmax over more keys with the mean margin."""
MEDIAN, TASK_MEDIAN = "median", "task median"
"""Methods that do not: every model breaks where the median of the tuning models does, or that of its task's."""
METHODS: tuple[str, ...] = (CARRIED, CHAIN, DISPERSION, MEDIAN, TASK_MEDIAN)
FEWEST, EACH_UP_TO, LEAST_SHARE = 8, 48, 4


@dataclass(frozen=True)
class ForecastSettings:
    """What is forecast and measured."""

    more: Annotated[tuple[str, ...], "Further models in the same tables: shipped names, runs, checkpoint files."] = ()
    variations: Annotated[tuple[str, ...], "Changes: as-trained, logits-F, base-F, closed-KofN, or several with +."] = (
        "as-trained", "logits-0.4", "logits-0.5", "logits-0.6", "logits-0.75", "base-10", "closed-3of8",
        "closed-3of8+logits-2",
    )  # fmt: skip
    forecast_inputs: Annotated[int, "Inputs of the training length behind each forecast."] = 48
    inputs: Annotated[int, "Sequences up to length 48; length n gets 48/n of them, and at least a quarter."] = 96
    longest: Annotated[int, "The longest length in tokens; a model that has not broken there is censored."] = 1000
    seed: Annotated[int, "Seed of the sequences and of the intervals."] = 0

    def __post_init__(self) -> None:
        if min(self.inputs, self.forecast_inputs) < FEWEST:
            raise WhatwhereError(
                f"expected at least {FEWEST} inputs and {FEWEST} forecast inputs, got {self.inputs} and "
                f"{self.forecast_inputs}; raise them."
            )
        if not self.variations or len(set(self.variations)) < len(self.variations):
            raise WhatwhereError(
                f"expected one or more variations, each once, got {', '.join(self.variations) or 'none'}; "
                "as-trained is the model without a change."
            )
        if self.longest < 1:
            raise WhatwhereError(f"expected a longest length of 1 token or more, got {self.longest}.")

    def sequences(self, length: int) -> int:
        """How many sequences are measured at a length."""
        return max(min(self.inputs, self.inputs * EACH_UP_TO // length), self.inputs // LEAST_SHARE)

    @cached_property
    def opened(self) -> list[Any]:
        """The further models, opened once."""
        return [TRAINED.open(name) for name in self.more]

    def decisive(self) -> dict[str, Any]:
        """What decides the results: of further models their weights, not their places."""
        return asdict(self) | {"more": [one.inputs["model"] for one in self.opened]}


@dataclass(frozen=True)
class Variant:
    """One member of the population, at the training length."""

    model: str
    """As it was named."""
    weights: str
    """A fingerprint."""
    task: str
    variation: str
    tuned: bool
    """Whether the method of forecasting was chosen on these weights."""
    trained: int
    """Tokens of a training input."""
    accuracy: Estimate
    """At the training length, the mean over hop classes."""
    counts: bool
    """Whether that is at least 0.95; if not, nothing is forecast."""


@dataclass(frozen=True)
class PredictedBreak:
    """Where a variant should break, from inputs of the training length alone."""

    model: str
    variation: str
    method: str
    """``carried``, ``chain`` or ``dispersion``."""
    threshold: float
    length: float
    """In tokens, interpolated; undefined if it is beyond the longest length, or if no head works."""
    beyond: bool
    """Whether it lies beyond the longest length."""


@dataclass(frozen=True)
class Seal:
    """That all forecasts were there before a longer input was run; one row."""

    forecasts: int
    """Rows of the table of forecasts."""
    sha256: str
    """Of this table, when measuring began."""


@dataclass(frozen=True)
class LengthAccuracy:
    """Mean accuracy over hop classes of one variant at one length, measured."""

    model: str
    variation: str
    length: int
    accuracy: Estimate


@dataclass(frozen=True)
class MeasuredBreak:
    """Where a variant does break."""

    model: str
    variation: str
    threshold: float
    length: Estimate
    """In tokens, interpolated in the logarithm of length; undefined if it has not broken (censored)."""
    longest: int
    """The longest length measured."""


@dataclass(frozen=True)
class Calibration:
    """How good one method is on one group of variants."""

    group: str
    """``held out`` (weights that nothing was chosen on), ``tuned on``, ``all``, or the name of a model."""
    threshold: float
    method: str
    error: Estimate
    """Mean absolute difference of log2 predicted and log2 measured length, over the variants that break."""
    bias: Estimate
    """The same with its sign: above 0 the predicted length is too long."""
    concordance: Estimate
    """Of the pairs of variants of which one surely breaks first, the share in the right order (ties half)."""
    broken: int
    censored: int
    """Variants that have not broken at the longest length; they enter the concordance alone."""
    undefined: int
    """Variants without a forecast by this method; they enter nothing."""
