"""One tested claim about the theorems."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A claim, the number of inputs it was tested on, and the number on which it did not hold.

    0 errors is a pass, also if the claim is that something fails: then it fails exactly where predicted.
    """

    claim: str
    inputs: int
    errors: int
    found: str = ""
    """Other observations, as text."""
    counterexamples: int = 0
    """If the claim is that something printed fails: the number of inputs on which it does."""

    @property
    def passed(self) -> bool:
        """Whether the claim held on every input."""
        return self.errors == 0
