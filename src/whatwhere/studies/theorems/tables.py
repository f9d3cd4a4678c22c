"""Settings and tables of the study of the theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from whatwhere.errors import WhatwhereError
from whatwhere.theory.arguments import check_angle, check_beta, check_integers, check_length, check_letters
from whatwhere.theory.printed import LENGTH, LETTERS

LEAST_INPUTS, MOST_INPUTS = 20, 1_000_000


@dataclass(frozen=True)
class TheoremsSettings:
    """What is asked: the whole paper, or the reach of both heads at one angle."""

    theta: Annotated[
        float | None,
        "Ask about one RoPE angle (radians per token) instead of checking the theorems; kept only with --out.",
    ] = None
    length: Annotated[int, "Tokens of an input, for the table of reach."] = LENGTH
    letters: Annotated[int, "Letters of the alphabet, for the table of reach and the margin map."] = LETTERS
    integers: Annotated[int | None, "The largest integer, for the table of reach; any by default."] = None
    beta: Annotated[float | None, "Also find the longest input that this inverse temperature serves."] = None
    inputs: Annotated[int, "Random inputs of the largest checks; smaller ones take a share of it."] = 10_000

    def __post_init__(self) -> None:
        check_length(self.length)
        check_letters(self.letters)
        if self.theta is not None:
            check_angle(self.theta)
        if self.integers is not None:
            check_integers(self.integers)
        if self.beta is not None:
            check_beta(self.beta)
        if not LEAST_INPUTS <= self.inputs <= MOST_INPUTS:
            raise WhatwhereError(
                f"expected inputs from {LEAST_INPUTS} to {MOST_INPUTS:,}, got {self.inputs:,}; choose another number."
            )

    def kept(self) -> bool:
        """Whether the command keeps the results without ``--out``: one angle is a question, not an experiment."""
        return self.theta is None


@dataclass(frozen=True)
class CheckRow:
    """One statement, tried on many inputs or lengths."""

    name: str
    claim: str
    inputs: int
    """Inputs, or lengths, on which it was tried."""
    errors: int
    """On how many it did not hold; where the claim is that something printed fails: on how many not as predicted."""
    counterexamples: int
    """Where the claim is that something printed fails: on how many inputs it does."""
    passed: bool
    found: str
    """What was seen beside the counts, for people."""


@dataclass(frozen=True)
class Discrepancy:
    """How far the wanted key stands out at one length (Theorem 2, Figure 5A), for beta = 1."""

    head: str
    """``index`` or ``retrieval``."""
    theta: float
    n: int
    """Tokens of the input, the query included."""
    printed_bound: float
    """Of Theorem 2."""
    corrected_bound: float
    """One that holds for the smallest discrepancy (errata E5, E6)."""
    smallest: float
    """Over inputs, exact; below 0 a wrong token wins."""
    largest: float
    """Over inputs, exact."""


@dataclass(frozen=True)
class LayerMargin:
    """What Figure 5A would show for one layer of the paper's letter model (erratum E29)."""

    layer: int
    frequency_id: int
    """Of the paper's table."""
    theta: float
    n: int
    smallest: float
    """Exact smallest discrepancy of Retrieval; below 0 a wrong token wins."""


@dataclass(frozen=True)
class Temperature:
    """How sharp attention must be (the lemma before Theorem 1)."""

    head: str
    inputs: str
    """Which inputs or queries it is for."""
    theta: float
    n: int
    least: float
    """The least inverse temperature, exact; undefined where none serves."""
    sufficient: float
    """The lemma's estimate; undefined where it gives none."""


@dataclass(frozen=True)
class Margin:
    """The smallest discrepancy of both heads at one angle and length; 0 or less where a head cannot serve."""

    theta: float
    n: int
    index: float
    retrieval: float


@dataclass(frozen=True)
class PlaneVector:
    """A key or query of T_Index in its plane (Figure 4A)."""

    vector: str
    """``key``, ``query`` of an integer, or ``rotated``: the query of the integer 3 as a key sees it."""
    number: int
    """The integer of a query, or the distance at which a rotated one is seen; 0 for the key."""
    x: float
    y: float
