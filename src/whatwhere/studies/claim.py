"""A claim: a statement, its measure and threshold, and the verdict.

The text of a claim and its threshold are a record of ``claims.toml`` in the folder of its study; ``claims.py`` next to
it has the functions that measure. The checksum of the record is part of every judgement, so that a report shows when a
threshold was changed afterwards. Thresholds follow from the paper's words; where the paper gives no number, ``reading``
says how its words were interpreted.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.store.documents import parse, plain
from whatwhere.store.files import read_text
from whatwhere.store.manifest import fingerprint

Kind = Literal["theorem", "trained", "chat", "reading"]
KINDS: dict[Kind, str] = {
    "theorem": "Theorems and identities",
    "trained": "Trained models",
    "chat": "Chat models",
    "reading": "Our own readings",
}
"""Kinds of claims; they are counted separately."""
Verdict = Literal["holds", "fails", "depends", "open", "ill-posed", "not tested"]
VERDICTS: dict[Verdict, str] = {
    "holds": "the value meets the threshold with its whole interval, and with every seed",
    "fails": "the value misses the threshold with its whole interval, and with every seed",
    "depends": "it holds under some conditions that the paper leaves open, and fails under others",
    "open": "with one seed at least the interval reaches across the threshold, or the question cannot be asked, and no "
    "two seeds surely differ",
    "ill-posed": "the statement lacks a definition, so that there is nothing to decide",
    "not tested": "the results are not there, or do not allow the question",
}
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "above": lambda value, limit: value > limit,
    "at least": lambda value, limit: value >= limit,
    "below": lambda value, limit: value < limit,
    "at most": lambda value, limit: value <= limit,
}


def meets(threshold: str, value: float, what: str) -> bool:
    """Whether a value meets a threshold such as ``at least 0.9``; an undefined one does not.

    Raises:
        WhatwhereError: the threshold has another form.
    """
    name, _, limit = threshold.rpartition(" ")
    try:
        return _TESTS[name](value, float(limit))
    except (KeyError, ValueError):
        raise WhatwhereError(
            f"{what}: expected a threshold such as 'at least 0.9' ({', '.join(_TESTS)}), got {threshold!r}."
        ) from None


@dataclass(frozen=True)
class Finding:
    """What was measured for a claim."""

    value: float
    why: str
    interval: tuple[float, float] | None = None
    """95 %, over the inputs, or over what the claim names: seeds, variants, heads."""
    inputs: int | None = None
    """How many inputs the value is over, or what the claim counts: path positions, layers, readings at a place."""
    rest_holds: bool | None = True
    """Whether the rest of the statement holds, which the value does not express, such as an order; None: not sure."""
    elsewhere: Mapping[str, Mapping[str, float | Estimate]] = field(default_factory=dict)
    """The value under conditions that the statement leaves open: ``{"tau": {"0.01": 0.8}}``."""

    def under(self, condition: str, choice: str) -> Finding | None:
        """The finding under another condition; None if it was not measured."""
        found = self.elsewhere.get(condition, {}).get(choice)
        if found is None:
            return None
        value, interval = (found.value, found.interval) if isinstance(found, Estimate) else (found, None)
        return replace(self, value=value, interval=interval)


@dataclass(frozen=True)
class Claim:
    """One testable statement."""

    id: str
    kind: Kind
    title: str
    text: str
    """In our words."""
    paper: str
    """Where the paper makes it."""
    measured: str
    """How it is measured, and what the value is."""
    threshold: str
    """``at least 0.9``: the test and its number."""
    measure: Callable[[Any], Finding]
    """Reads the evidence of one reproduction (:class:`whatwhere.studies.evidence.Evidence`).

    Raises ``NotTested`` if they are not there or do not allow the question, ``WhatwhereError`` if they are damaged.
    """
    fixed: str = ""
    """The day on which statement and threshold were fixed."""
    reading: str = ""
    """How the paper's words became this threshold."""
    paper_value: str = ""
    """What the paper reports, if anything."""
    also: str = ""
    """What else is measured, under conditions that the statement leaves open: it decides whether the claim depends."""
    restated: str = ""
    """The day on which it was changed after a first judgement, what was changed, and why."""
    ill_posed: str = ""
    """What the statement lacks, if it cannot be decided."""
    checksum: str = ""
    """Of its record in ``claims.toml``."""
    question: str = ""
    """Checksum of the measure and the threshold only; a change of other words does not change it."""

    def __post_init__(self) -> None:
        meets(self.threshold, 0.0, f"claim {self.id!r}")

    def met(self, value: float) -> bool:
        """Whether a value meets the threshold; an undefined one does not."""
        return meets(self.threshold, value, f"claim {self.id!r}")

    def asked(self) -> str:
        """The threshold and how the paper's words were read, as text."""
        return ": ".join(filter(None, (self.threshold, self.reading)))


_DECISIVE = ("measure", "arguments", "measured", "threshold")


def read_claims(path: Path, functions: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims of a study.

    Args:
        path: ``claims.toml``: a table for each claim, named by its ID. ``measure`` names a function, and ``arguments``
            is what it gets besides the evidence.
        functions: by name.

    Raises:
        WhatwhereError: a field is missing, unknown or of another type, or there is no such function.
    """
    claims = []
    for name, content in tomllib.loads(read_text(path, "the claims")).items():
        record = dict(content)
        measure, arguments = functions.get(record.pop("measure", "")), record.pop("arguments", {})
        if measure is None:
            raise WhatwhereError(f"claim {name!r} in {path}: expected the name of a function as measure, got none.")
        claims.append(
            parse(
                Claim, record, f"claim {name!r} in {path}",
                id=name, measure=partial(measure, **arguments), checksum=fingerprint(content),
                question=fingerprint([content.get(part) for part in _DECISIVE]),
            )
        )  # fmt: skip
    return tuple(claims)


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
    depends_on: tuple[str, ...] = ()
    """What the verdict depends on: seed, tau, data."""
    control: tuple[Verdict, tuple[float, ...]] | None = None
    """Verdict and values of a statement about trained models, with letter models on leak-free data."""
    missing: bool = False
    """Whether it was not tested because results are missing."""
    models: tuple[str, ...] = ()
    """The models whose results it rests on; none for a theorem."""

    def to_dict(self) -> dict[str, Any]:
        """The entry of ``claims.json``; undefined and infinite numbers are null."""
        found = {name: getattr(self, name) for name in ("verdict", "why", "inputs", "depends_on", "models")}
        words = {name: text for name, text in vars(self.claim).items() if name != "measure"}
        numbers = {
            "value": _finite(self.value),
            "interval": None if self.interval is None else [_finite(end) for end in self.interval],
            "seeds": [_finite(value) for value in self.seeds],
            "control": self.control and {"verdict": self.control[0], "seeds": list(map(_finite, self.control[1]))},
        }
        return plain(words | found | numbers)

    def to_row(self) -> dict[str, Any]:
        """A line of ``claims.csv``."""
        low, high = self.interval or (math.nan, math.nan)
        on_control, control_seeds = self.control or ("", ())
        claim = self.claim
        return {
            "id": claim.id, "kind": claim.kind, "title": claim.title, "verdict": self.verdict, "value": self.value,
            "low": low, "high": high, "inputs": self.inputs,
            "seeds": _joined(self.seeds), "models": " ".join(self.models), "depends_on": " ".join(self.depends_on),
            "control": on_control, "control_seeds": _joined(control_seeds),
            "threshold": claim.threshold, "paper_value": claim.paper_value, "paper": claim.paper, "why": self.why,
            "fixed": claim.fixed, "checksum": claim.checksum,
        }  # fmt: skip


def _joined(values: Sequence[float]) -> str:
    return " ".join(f"{value:.6g}" for value in values)


def _finite(value: float) -> float | None:
    """A number that JSON can hold, to ten digits."""
    return float(f"{value:.10g}") if math.isfinite(value) else None


def listed(names: object) -> str:
    """``0, 1 and 2``; ``none`` for nothing."""
    words = [str(name) for name in names] if isinstance(names, list | tuple) else [str(names)]
    if not words:
        return "none"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
