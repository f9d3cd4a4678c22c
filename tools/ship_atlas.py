"""Puts the items of an atlas into the package: ``python tools/ship_atlas.py DIR``.

DIR is a sweep that ``whatwhere atlas DIR`` has read (its tables are in ``DIR/atlas``). What ships is plain CSV without
weights. Items that ship already stay, and those of the same name are replaced, so that an atlas can grow over several
machines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_bytes, write_bytes
from whatwhere.store.tables import read_csv, write_csv
from whatwhere.studies.atlas import ATLAS, SHIPPED_AT
from whatwhere.studies.atlas.measure import SHIPPED
from whatwhere.studies.results import Results

MOST_BYTES = 1_000_000
"""Of all tables together: a repository is no place for more."""


def ship_atlas(directory: Path, destination: Path) -> dict[str, int]:
    """Merges the tables of ``directory/atlas`` into those that ship.

    Returns:
        The rows of each table.

    Raises:
        WhatwhereError: there are no tables, they are damaged, or they have grown too large.
    """
    results = Results.open(ATLAS, directory / ATLAS.name, directory.name)
    new = results["items"]["item"].tolist()
    merged = {}
    for name, kind in SHIPPED.items():
        path, parts = destination / f"{name}.csv", [results[name]]
        if path.is_file():
            known = read_csv(kind, read_bytes(path, "a shipped table"), f"the shipped table {name!r}")
            parts.insert(0, known.loc[~known["item"].isin(new), :])
        merged[name] = pd.concat([part for part in parts if len(part)], ignore_index=True)
    contents = {name: write_csv(_rounded(frame)) for name, frame in merged.items()}
    size = sum(map(len, contents.values()))
    if size > MOST_BYTES:
        raise WhatwhereError(
            f"expected tables of at most {MOST_BYTES:,} bytes together, got {size:,}; collect with fewer --points."
        )
    for name, content in contents.items():
        write_bytes(destination / f"{name}.csv", content)
    return {name: len(frame) for name, frame in merged.items()}


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Six digits are more than seeds agree on, and keep files small."""
    columns = [name for name in ("value", "accuracy") if name in frame]
    return frame.assign(**{name: [float(f"{value:.6g}") for value in frame[name]] for name in columns})


if __name__ == "__main__":
    try:
        (place,) = sys.argv[1:]
        print(ship_atlas(Path(place), SHIPPED_AT))
    except WhatwhereError as error:
        sys.exit(f"whatwhere: {error}")
