"""Settings and tables of the study ``atlas``.

``items``, ``outcomes``, ``verdicts`` and ``curves`` are read from a sweep, one item at a time; they are what ships. The
other tables follow from them: seeds are their unit, and items that did not learn their task count apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import check_least
from whatwhere.heads.estimate import Estimate

OUTCOMES = {
    "learned": "learned its task (every class at 0.9)",
    "test_accuracy": "accuracy on the test split",
    "worst_accuracy": "accuracy of the worst hop class",
    "timing_gap": "hop classes: last over first step",
    "pure_share": "share of pure heads",
    "pure_positional": "purely positional heads",
    "pure_symbolic": "purely symbolic heads",
    "split_layers": "layers with pure heads of both kinds",
    "last_to_purify": "layer that is pure last",
    "last_layer_is_last": "the last layer is pure last",
    "last_layer_never_pure": "the last layer does not end pure",
    "purity_order": "order of purity follows layers (rank corr.)",
    "needed_heads": "heads needed alone",
    "sufficient_heads": "heads that suffice, all classes",
    "layers_per_hop": "layers per hop, longest class",
    "shortcut_share": "answers of the longest class in fewer layers than hops",
    "chain_accuracy": "accuracy on longer chains than trained",
    "accuracy_145": "accuracy at 145 tokens",
    "accuracy_325": "accuracy at 325 tokens",
    "accuracy_850": "accuracy at 850 tokens",
    "break_length": "tokens at which accuracy falls below one half",
    "frequency_first": "frequency ID, layers 0-3",
    "frequency_late": "frequency ID, layers 5 and later",
}
"""The outcomes that stand for themselves, in words. Those of one hop class, tau or layer have it behind their name."""
NUMBERED = {
    "step_hop": "step at which a hop class reaches 0.9",
    "pure_share_tau": "share of pure heads at another tau",
    "pure_positional_tau": "purely positional heads at another tau",
    "pure_symbolic_tau": "purely symbolic heads at another tau",
    "sufficient_hop": "heads that suffice for a hop class",
    "layers_hop": "layers until an answer can be read",
    "frequency_layer": "frequency ID of a layer",
}
BY_RECIPE = {"timing_gap": (1.0, math.inf), "pure_share": (0.0, 1.0)}
"""Outcomes that are compared between the preset and the authors' recipe, with their range."""
BEFORE_LEARNING = ("learned", "test_accuracy", "worst_accuracy")
"""Outcomes that are defined for items that did not learn."""
INTERACTIONS = (("data", "rate", "timing_gap"), ("data", "attention dropout", "pure_share"))
"""Named before the first run: two factors, and the outcome on which one may change what the other does."""


@dataclass(frozen=True)
class AtlasSettings:
    """What is kept of each item."""

    points: Annotated[int, "Points of each learning curve that are kept for the page."] = 20

    def __post_init__(self) -> None:
        check_least(self, points=2)


@dataclass(frozen=True)
class Item:
    """One run: what it was trained with, and whether it learned."""

    item: str
    """Its name in the sweep."""
    task: str
    seed: int
    condition: str
    """What differs from the preset ``short`` of its task: ``decoy, rate x2``; ``base`` if nothing does."""
    data: str
    """The generator of the letter task, or the integers off the path of the number task."""
    rate: float
    """The largest learning rate."""
    steps: int
    attention_dropout: float
    heads: int
    """Per layer."""
    layers: int
    weight_decay: float
    learned: bool
    """Whether every hop class ends at 0.9 or more."""


@dataclass(frozen=True)
class Missing:
    """An item of the sweep that has no results."""

    item: str
    status: str
    """``failed``, ``waiting`` or ``damaged``."""
    problem: str


@dataclass(frozen=True)
class Outcome:
    """One number of one item."""

    item: str
    outcome: str
    """A key of :data:`OUTCOMES`, or one of :data:`NUMBERED` with the class, tau or layer behind it."""
    value: float


@dataclass(frozen=True)
class ItemVerdict:
    """One claim, judged on one item alone or with its partner of the other task."""

    item: str
    partner: str | None
    """The item of the other task for a claim about both: same seed and settings, that task's own data."""
    claim: str
    value: float
    met: bool | None
    """Whether the value meets the claim's threshold; none if it was not tested."""
    why: str
    """Why it was not tested; empty if it was."""
    question: str
    """Checksum of the claim's measure and threshold: a verdict that ships stands while the claim asks the same."""


@dataclass(frozen=True)
class Point:
    """A point of a learning curve, thinned."""

    item: str
    step: int
    hop: int
    accuracy: float


@dataclass(frozen=True)
class Effect:
    """What one factor does to one outcome, everything else equal, paired by seed; or how two factors interact."""

    task: str
    outcome: str
    factor: str
    """``rate``; ``data x rate`` for an interaction."""
    level: str
    at: str
    """The other settings: ``base``, or what they are (``decoy``)."""
    reference: float
    """The mean without the change, over the same seeds."""
    difference: Estimate
    """The mean difference with a t interval over seeds, none if all agree.

    Of an interaction, the difference of two differences."""


@dataclass(frozen=True)
class Cell:
    """One claim under one condition: a field of the map."""

    claim: str
    kind: str
    about: str
    """``letter``, ``number`` or ``both``."""
    condition: str
    verdict: str
    """``holds`` (with every seed), ``fails`` (with every seed), ``depends`` (on the seed)."""
    share: float
    """Of the seeds with which it holds."""
    n: int
    """Seeds on which it could be judged, of items that learned their task."""


@dataclass(frozen=True)
class RecipePair:
    """One outcome by the preset ``short`` and by the authors' recipe, on the same task and data."""

    task: str
    condition: str
    """What is changed besides the recipe: ``base``, ``decoy``."""
    outcome: str
    short: Estimate
    """The mean over seeds, with a t interval."""
    paper: Estimate


@dataclass(frozen=True)
class Answer:
    """One number of one question, beside what was predicted before the runs."""

    question: str
    part: str
    number: str
    """What the number is."""
    value: Estimate
    """With a t interval over seeds; none if all seeds agree."""
    expected: str
    """The prediction in words."""
    threshold: str
    came_out: str
    """``as expected``, ``otherwise``, ``open`` (the interval reaches across, or one or two seeds), ``not answered``."""
    sentence: str
