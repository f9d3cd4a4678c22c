from pathlib import Path

import pandas as pd
import pytest
from atlas_world import use_shipped, write_sweep

import ship_atlas
import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.training.options import Options

TABLES = ("items", "outcomes", "verdicts", "curves")


def collected(directory: Path, steps: dict[str, list[float]]) -> Path:
    """A sweep that was read."""
    options = {name: Options("letter", seed=int(name[-2:])) for name in steps}
    write_sweep(directory, options, steps)
    ww.study("atlas", directory, out=directory)
    return directory


@pytest.mark.slow
def test_an_atlas_grows_over_machines_and_replaces_items_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = collected(tmp_path / "a", {"letter-20": [300] * 4, "letter-21": [300] * 4})
    second = collected(tmp_path / "b", {"letter-21": [300, 400, 500, 600], "letter-22": [300] * 4})
    home = tmp_path / "shipped"
    ship_atlas.ship_atlas(first, home)
    alone = {name: pd.read_csv(home / f"{name}.csv") for name in TABLES}
    counted = ship_atlas.ship_atlas(second, home)
    tables = {name: pd.read_csv(home / f"{name}.csv") for name in TABLES}
    assert counted == {name: len(table) for name, table in tables.items()}
    assert tables["items"]["item"].tolist() == ["letter-20", "letter-21", "letter-22"]
    for name in TABLES:
        kept, before = (part[name].query("item == 'letter-20'").reset_index(drop=True) for part in (tables, alone))
        assert kept.equals(before)
        assert len(tables[name]) == len(alone[name]) * 3 / 2
    rows = tables["outcomes"].query("outcome == 'timing_gap'")
    gap = dict(zip(rows["item"], rows["value"], strict=True))
    assert gap["letter-20"] == gap["letter-22"] == 1
    assert gap["letter-21"] > 1.5
    use_shipped(home, monkeypatch)
    assert ww.study("atlas")["items"]["seed"].tolist() == [20, 21, 22]


def test_what_was_not_read_yet_or_is_too_large_is_not_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_sweep(tmp_path / "a", {"letter-20": Options("letter")}, {"letter-20": [300] * 4})
    with pytest.raises(WhatwhereError, match=r"expected results with a manifest.json"):
        ship_atlas.ship_atlas(tmp_path / "a", tmp_path / "shipped")
    ww.study("atlas", tmp_path / "a", out=tmp_path / "a")
    monkeypatch.setattr(ship_atlas, "MOST_BYTES", 100)
    with pytest.raises(WhatwhereError, match="expected tables of at most 100 bytes together, got"):
        ship_atlas.ship_atlas(tmp_path / "a", tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()
