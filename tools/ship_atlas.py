"""Puts the items of an atlas into the package: ``python tools/ship_atlas.py DIR``, or ``anchors`` in the place of DIR.

DIR is a sweep that ``whatwhere atlas DIR`` has read (its tables are in ``DIR/atlas``). What ships is plain CSV without
weights. Items that ship already stay; those of the same name, or of the same task, condition and seed, are replaced.
Claims about both tasks need the runs of a pair: where its two items were read in different sweeps, they are marked as
not tested. ``anchors`` are the runs by the authors' recipe: the shipped models and the further seeds.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_bytes, write_bytes
from whatwhere.store.tables import from_frame, read_csv, to_frame, write_csv
from whatwhere.studies.atlas import ATLAS, SHIPPED_AT
from whatwhere.studies.atlas.claim_map import judged_claims
from whatwhere.studies.atlas.item_verdicts import NO_PARTNER, as_asked_today, partners_of, reports_pairs
from whatwhere.studies.atlas.measure import SHIPPED
from whatwhere.studies.atlas.tables import Item, ItemVerdict
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.studies.subject import SWEEP_TABLE
from whatwhere.training.run import Run
from whatwhere.zoo import load, take

MOST_BYTES = 1_500_000
"""Of all tables together: a repository is no place for more."""
READ_APART = "the pair was not judged: this item and its partner were read in different sweeps; read both in one."
"""Why a claim about both tasks is not tested, although both items ship."""
ANCHORS = "anchors"


def ship_atlas(directory: Path, destination: Path) -> dict[str, int]:
    """Merges the tables of ``directory/atlas`` into those that ship.

    Returns:
        The rows of each table.

    Raises:
        WhatwhereError: there are no tables, they are damaged, or they have grown too large.
    """
    results = Results.open(ATLAS, directory / ATLAS.name, directory.name)
    fresh = {name: _rounded(results[name]) for name in SHIPPED}
    known = {name: _shipped(destination, name) for name in SHIPPED}
    new = fresh["items"]["item"].tolist()
    places = {_place(item) for item in from_frame(Item, fresh["items"])}
    gone = {item.item for item in from_frame(Item, known["items"]) if _place(item) in places} | set(new)
    stay = {name: frame.loc[~frame["item"].isin(sorted(gone)), :] for name, frame in known.items()}
    merged = {
        name: pd.concat([part for part in (stay[name], fresh[name]) if len(part)], ignore_index=True)
        for name in SHIPPED
    }
    changed = [name for name in new if not _of(known["outcomes"], name).equals(_of(fresh["outcomes"], name))]
    verdicts = as_asked_today(from_frame(ItemVerdict, merged["verdicts"]), judged_claims())
    merged["verdicts"] = mark_pairs(to_frame(ItemVerdict, verdicts), from_frame(Item, merged["items"]), changed, new)
    contents = {name: write_csv(frame) for name, frame in merged.items()}
    size = sum(map(len, contents.values()))
    if size > MOST_BYTES:
        raise WhatwhereError(
            f"expected tables of at most {MOST_BYTES:,} bytes together, got {size:,}; collect with fewer --points."
        )
    for name, content in contents.items():
        write_bytes(destination / f"{name}.csv", content)
    return {name: len(frame) for name, frame in merged.items()}


def mark_pairs(verdicts: pd.DataFrame, items: list[Item], changed: list[str], new: list[str]) -> pd.DataFrame:
    """The verdicts, where those of pairs that were never judged together say so.

    Args:
        verdicts: of all items.
        items: all of them.
        changed: the items that are new, or another run than the one that shipped under their name.
        new: the items that were read now; their verdicts are of now.
    """
    partners = {name: partner.item for name, partner in partners_of(items).items()}
    about_both = verdicts.loc[verdicts["partner"].notna()]
    claims = dict(zip(about_both["claim"], about_both["question"], strict=True))
    there = set(zip(verdicts["item"], verdicts["claim"], strict=True))
    absent = [
        ItemVerdict(item.item, None, claim, math.nan, None, NO_PARTNER, question)
        for item in items
        for claim, question in sorted(claims.items())
        if item.item in partners and reports_pairs(item) and (item.item, claim) not in there
    ]
    marked = pd.concat([verdicts, to_frame(ItemVerdict, absent)], ignore_index=True) if absent else verdicts.copy()
    partner = pd.Series([partners.get(name) for name in marked["item"]], dtype=marked["partner"].dtype)
    alone = marked["why"].isin([NO_PARTNER, READ_APART]) & partner.notna()
    earlier = marked["partner"].notna() & ~marked["item"].isin(new)
    apart = alone | earlier & (marked["partner"].isin(changed) | (marked["partner"] != partner))
    marked.loc[apart, "partner"] = partner[apart]
    marked.loc[apart, "value"] = math.nan
    marked.loc[apart, "met"] = None
    marked.loc[apart, "why"] = READ_APART
    return marked


def read_anchors(directory: Path) -> Path:
    """Makes an atlas of the runs by the authors' recipe that ship, as a sweep that was read."""
    lines = ["item,status,problem"]
    for name in (*load.SHIPPED, *take.further_seeds()):
        made = take.about(name)
        item = f"{Path(name).name}-recipe-{made['training']['preset']}-seed{made['training']['seed']}"
        run = Run(directory / "items" / item)
        take.take(name, run.directory)
        if not run.steps():  # the models of further seeds do not ship; the test result needs a checkpoint to belong to
            write_bytes(run.checkpoint_path(made["steps"]), b"")
        lines.append(f"{item},done,")
    write_bytes(directory / SWEEP_TABLE, "\n".join([*lines, ""]).encode())
    study(ATLAS.name, directory, out=directory, progress=False)
    return directory


def _place(item: Item) -> tuple[str, str, int]:
    """What no two items may share: seeds are the sample."""
    return item.task, item.condition, item.seed


def _shipped(destination: Path, name: str) -> pd.DataFrame:
    path, kind = destination / f"{name}.csv", SHIPPED[name]
    content = read_bytes(path, "a shipped table") if path.is_file() else write_csv(to_frame(kind, []))
    return read_csv(kind, content, f"the shipped table {name!r}")


def _of(outcomes: pd.DataFrame, item: str) -> pd.DataFrame:
    return outcomes.loc[outcomes["item"] == item, ["outcome", "value"]].reset_index(drop=True)


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Six digits are more than seeds agree on, and keep files small."""
    columns = [name for name in ("value", "accuracy") if name in frame]
    return frame.assign(**{name: [float(f"{value:.6g}") for value in frame[name]] for name in columns})


if __name__ == "__main__":
    try:
        (place,) = sys.argv[1:]
        with TemporaryDirectory() as temporary:
            source = read_anchors(Path(temporary)) if place == ANCHORS else Path(place)
            print(ship_atlas(source, SHIPPED_AT))
    except WhatwhereError as error:
        sys.exit(f"whatwhere: {error}")
