"""Which claims held before, by preset: so that a reproduction can serve as a regression test.

``baseline.json`` beside this file lists them. Record a new one from reproductions that are right, with

    python -m whatwhere.report.claims.baseline PRESET DIR [DIR ...]

Only claims that hold in every one of the directories are recorded, so that several seeds or machines can vouch for
them. ``zoo`` is the preset of reproductions from the shipped models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.report.claims.claim import HOLDS, Judged
from whatwhere.storage import read_json, write_text

BASELINE = Path(__file__).with_name("baseline.json")
PRESETS = ("smoke", "quick", "laptop", "paper", "zoo")


def regressions(judged: Sequence[Judged], preset: str, *, partial: bool = False, path: Path = BASELINE) -> list[str]:
    """The claims that held in the recorded baseline of a preset and no longer do, in words.

    A preset without a record has none.

    Args:
        judged: the claims of a reproduction.
        preset: ``smoke``, ``quick``, ``laptop``, ``paper`` or ``zoo``.
        partial: stages were left out on purpose, so that missing results are no regression.
        path: of the recorded baseline.

    Raises:
        WhatwhereError: the baseline is damaged.
    """
    held = set(read_json(path, "the recorded baseline of the claims").get(preset, []))
    return [
        f"{one.claim.id} held in the baseline of {preset} and is now: {one.verdict}. {one.why}"
        for one in judged
        if one.claim.id in held and one.verdict != HOLDS and not (partial and one.missing)
    ]


def record(preset: str, judged: Sequence[Sequence[Judged]], path: Path = BASELINE) -> list[str]:
    """Records the claims that hold in every one of some reproductions.

    Raises:
        WhatwhereError: there is no such preset, or no reproduction.
    """
    if preset not in PRESETS:
        raise WhatwhereError(f"a preset ({', '.join(PRESETS)}) was expected, and {preset!r} arrived.")
    if not judged:
        raise WhatwhereError("at least one reproduction to record was expected, and none arrived.")
    everywhere = [{one.claim.id for one in claims if one.verdict == HOLDS} for claims in judged]
    held = [one.claim.id for one in judged[0] if all(one.claim.id in ids for ids in everywhere)]
    known = read_json(path, "the recorded baseline of the claims") if path.is_file() else {}
    # Plain JSON without a seal: it is part of the source, and merged like it.
    write_text(path, json.dumps({**known, preset: held}, indent=2) + "\n")
    return held


if __name__ == "__main__":
    from whatwhere.report.claims.judging import judge

    for name in record(sys.argv[1], [judge(Path(directory)) for directory in sys.argv[2:]]):
        print(name)
