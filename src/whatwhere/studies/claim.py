"""What a claim is: a statement of the paper in our words, how it is measured, and what came of it.

Thresholds follow from the paper's words and were fixed before looking at results; where the paper gives no number, the
text of the threshold says how it was read. A claim that the paper makes and that fails here stays as it is; where
another reading differs (within a window, on corrected inputs), that is a claim of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from whatwhere.studies.evidence import Evidence

Verdict = Literal["holds", "fails", "not tested"]
HOLDS: Verdict = "holds"
FAILS: Verdict = "fails"
NOT_TESTED: Verdict = "not tested"


@dataclass(frozen=True)
class Finding:
    """What was measured, and whether it meets the threshold.

    The value itself decides. Its interval tells how sure that is, and ``why`` says so where it reaches across.
    """

    holds: bool
    value: float
    why: str
    interval: tuple[float, float] | None = None
    """95 %, over the inputs."""
    inputs: int | None = None


@dataclass(frozen=True)
class Claim:
    """One testable statement."""

    id: str
    title: str
    text: str
    """In our words."""
    paper: str
    """Where the paper makes it."""
    measured_how: str
    threshold: str
    measure: Callable[[Evidence], Finding]
    """Reads the results of one reproduction.

    Raises ``NotTested`` if they are not there or do not allow the question, ``WhatwhereError`` if they are damaged.
    """
    paper_value: str | None = None
    """What the paper reports, where it does."""
    trained: bool = True
    """Whether it is about trained models, so that it can be asked of every seed."""


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict."""

    claim: Claim
    verdict: Verdict
    why: str
    value: float = math.nan
    interval: tuple[float, float] | None = None
    inputs: int | None = None
    seeds: tuple[float, ...] = ()
    """The value with each seed on which it could be measured."""
    with_every_seed: bool = False
    """Whether it holds with each of them, and not just with more than half."""
    missing: bool = False
    """Whether it was not tested for want of results."""

    def to_dict(self) -> dict[str, Any]:
        """What ``claims.json`` holds; undefined and infinite numbers are null, as JSON has none."""
        claim = self.claim
        return {
            "id": claim.id,
            "title": claim.title,
            "text": claim.text,
            "paper": claim.paper,
            "measured_how": claim.measured_how,
            "threshold": claim.threshold,
            "value": finite(self.value),
            "interval": None if self.interval is None else [finite(end) for end in self.interval],
            "inputs": self.inputs,
            "verdict": self.verdict,
            "why": self.why,
            "seeds": [finite(value) for value in self.seeds],
            "paper_value": claim.paper_value,
        }

    def to_row(self) -> dict[str, Any]:
        """A line of ``claims.csv``."""
        low, high = self.interval or (math.nan, math.nan)
        claim = self.claim
        return {
            "id": claim.id, "title": claim.title, "verdict": self.verdict, "value": self.value, "low": low,
            "high": high, "inputs": self.inputs, "seeds": " ".join(f"{value:.6g}" for value in self.seeds),
            "threshold": claim.threshold, "paper_value": claim.paper_value or "", "paper": claim.paper, "why": self.why,
        }  # fmt: skip


def finite(value: float) -> float | None:
    """A number that JSON can hold, to ten digits."""
    return float(f"{value:.10g}") if math.isfinite(value) else None


def sureness(interval: tuple[float, float], threshold: float) -> str:
    """A remark for a value whose interval reaches across the threshold; nothing otherwise."""
    low, high = interval
    return f" The interval, {low:.3g} to {high:.3g}, reaches across {threshold:g}." if low < threshold < high else ""


def listed(names: object) -> str:
    """``0, 1 and 2``; ``none`` for nothing."""
    words = [str(name) for name in names] if isinstance(names, list | tuple) else [str(names)]
    if not words:
        return "none"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
