"""Which claims held before, by preset: so that a reproduction can serve as a regression test.

``baseline.json`` beside this file lists them, and ``tools/record_claims.py`` writes it. ``zoo`` is the preset of
reproductions from the shipped models.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whatwhere.store.documents import read_json
from whatwhere.studies.claim import Judged

BASELINE = Path(__file__).with_name("baseline.json")
PRESETS = ("smoke", "short", "paper", "zoo")


def regressions(judged: Sequence[Judged], preset: str, path: Path = BASELINE) -> list[str]:
    """The claims that held in the recorded baseline of a preset and no longer do, in words.

    A preset without a record has none.

    Raises:
        WhatwhereError: the baseline is damaged.
    """
    held = set(read_json(path, "the recorded baseline of the claims").get(preset, []))
    return [
        f"{one.claim.id} held in the baseline of {preset} and is now: {one.verdict}. {one.why}"
        for one in judged
        if one.claim.id in held and one.verdict != "holds"
    ]
