"""Numbers that the paper prints and that several studies compare with."""

from __future__ import annotations

NUMBER_IDS = (1, 2, 2, 2, 10, 39, 38, 38, 38, 37, 37, 38)
LETTER_IDS = (18, 32, 42, 37, 40, 38, 41, 38, 41, 39, 38, 40)
"""Weighted averaged frequency ID of each layer (Table "Frequencies"), number and letter model."""
PLANES, BASE = 64, 10_000.0
"""Frequency ID k turns by BASE ** (-(k - 1) / PLANES) radians per token."""
INDEX_THETA, RETRIEVAL_THETA = 0.866, 0.0027
"""The angles of Figure 5A: IDs 2 and 42, those of layer 2 (erratum E13)."""
CAPTION_THETA = 0.8
"""The Index angle that the caption of Figure 5 names; ID 2 is 0.866 (erratum E12)."""
LENGTH = 17
"""Tokens of an input: 8 in the target window, 8 before the query, and the query."""
LETTERS, INTEGERS = 8, 16
"""The alphabet of the letter task; the largest integer of the number task."""


def frequency(id: int) -> float:
    """The angle of a frequency ID, in radians per token."""
    return BASE ** (-(id - 1) / PLANES)
