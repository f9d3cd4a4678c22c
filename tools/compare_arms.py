"""Compares the arms of a sweep on the task both: ``python tools/compare_arms.py SWEEP CSV FIGURE_FOLDER``.

Writes every outcome over seeds as CSV and the figure of the arms, and prints what the claims say. Nothing is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import write_bytes
from whatwhere.store.tables import write_csv
from whatwhere.studies.judging import judge, measured
from whatwhere.studies.measuring import draw
from whatwhere.studies.preference import PREFERENCE
from whatwhere.studies.preference.arms import compare, evidence_of_arms, read_arms


def report(sweep: Path, table: Path, figures: Path) -> list[str]:
    """Writes table and figure, and returns a line for each claim."""
    write_bytes(table, write_csv(compare(sweep)))
    draw(read_arms(sweep), figures, kind="models")
    judged = judge(evidence_of_arms(sweep), PREFERENCE.all_claims())
    return [f"{one.claim.id}: {one.verdict}, {measured(one)}. {one.why}" for one in judged]


if __name__ == "__main__":
    try:
        if len(sys.argv) != 4:
            raise WhatwhereError(f"expected SWEEP CSV FIGURE_FOLDER, got {len(sys.argv) - 1} arguments.")
        print("\n".join(report(*map(Path, sys.argv[1:]))))
    except WhatwhereError as error:
        sys.exit(f"whatwhere: {error}")
