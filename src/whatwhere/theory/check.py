"""One claim about the theorems, and how it fared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A claim, on how many inputs it was tried, and on how many it did not hold.

    An error is a departure from the claim, so 0 is a pass also where the claim is that something fails: then it says
    that it fails exactly where predicted.
    """

    claim: str
    inputs: int
    errors: int
    found: str = ""
    """What was seen beside the count, for people."""
    counterexamples: int = 0
    """Where the claim is that something printed fails: on how many of the inputs it does."""

    @property
    def passed(self) -> bool:
        """Whether the claim held on every input."""
        return self.errors == 0
