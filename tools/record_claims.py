"""Records which claims hold: ``python tools/record_claims.py PRESET DIR [DIR ...]``.

Only claims that hold in every one of the reproductions are recorded: what some seeds or machines do not show must not
count as a regression on another.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import read_json, write_json
from whatwhere.studies.claim import Judged
from whatwhere.studies.evidence import evidence_of
from whatwhere.studies.judging import judge
from whatwhere.work.reporting import BASELINE, PRESETS


def record(preset: str, judged: Sequence[Sequence[Judged]], path: Path = BASELINE) -> list[str]:
    """Records the claims that hold in each of some reproductions; other presets keep their records.

    Raises:
        WhatwhereError: there is no such preset, or no reproduction.
    """
    if preset not in PRESETS:
        raise WhatwhereError(f"expected a preset of {', '.join(PRESETS)}, got {preset!r}.")
    if not judged:
        raise WhatwhereError("expected at least one reproduction to record, got none.")
    everywhere = [{one.claim.id for one in claims if one.verdict == "holds"} for claims in judged]
    held = [one.claim.id for one in judged[0] if all(one.claim.id in ids for ids in everywhere)]
    known = read_json(path, "the recorded baseline of the claims") if path.is_file() else {}
    write_json(path, {**{name: known[name] for name in PRESETS if name in known}, preset: held})
    return held


if __name__ == "__main__":
    try:
        preset, *directories = sys.argv[1:] or [""]
        print("\n".join(record(preset, [judge(evidence_of(Path(directory))) for directory in directories])))
    except WhatwhereError as error:
        sys.exit(f"whatwhere: {error}")
