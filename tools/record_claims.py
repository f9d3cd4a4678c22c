"""Records which claims hold: ``python -m whatwhere.studies.record PRESET DIR [DIR ...]``.

Only claims that hold with every seed of every one of the reproductions are recorded: what some seeds or machines do not
show must not count as a regression on another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_json, write_text
from whatwhere.studies.baseline import BASELINE, PRESETS
from whatwhere.studies.claim import Judged
from whatwhere.studies.judging import judge


def record(preset: str, judged: Sequence[Sequence[Judged]], path: Path = BASELINE) -> list[str]:
    """Records the claims that hold with every seed of some reproductions.

    Args:
        preset: for which; other presets keep their records.
        judged: the claims of each reproduction.
        path: of the baseline.

    Raises:
        WhatwhereError: there is no such preset, or no reproduction.
    """
    if preset not in PRESETS:
        raise WhatwhereError(f"a preset ({', '.join(PRESETS)}) was expected, and {preset!r} arrived.")
    if not judged:
        raise WhatwhereError("at least one reproduction to record was expected, and none arrived.")
    everywhere = [{one.claim.id for one in claims if one.with_every_seed} for claims in judged]
    held = [one.claim.id for one in judged[0] if all(one.claim.id in ids for ids in everywhere)]
    known = read_json(path, "the recorded baseline of the claims") if path.is_file() else {}
    # Plain JSON without a seal: it is part of the source, and merged like it.
    write_text(path, json.dumps({**known, preset: held}, indent=2) + "\n")
    return held


if __name__ == "__main__":
    try:
        preset, *directories = sys.argv[1:] or [""]
        print("\n".join(record(preset, [judge(Path(directory)) for directory in directories])))
    except WhatwhereError as error:
        sys.exit(f"whatwhere: {error}")
