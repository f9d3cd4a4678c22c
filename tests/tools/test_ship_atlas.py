from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from atlas_world import use_shipped, write_sweep

import ship_atlas
import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.store.tables import from_frame
from whatwhere.studies.atlas import ATLAS, SHIPPED_AT
from whatwhere.studies.atlas.item_verdicts import NO_PARTNER, partners_of
from whatwhere.studies.atlas.tables import Item
from whatwhere.studies.results import Results
from whatwhere.training.options import Options
from whatwhere.zoo import take
from whatwhere.zoo.load import SHIPPED

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


BOTH = "scores-start-high"


def sweep_of(directory: Path, names: dict[str, list[float]]) -> Path:
    """Items with their task before their name and their seed behind it, read."""
    write_sweep(
        directory, {name: Options(name.partition("-")[0], seed=int(name.rpartition("-")[2])) for name in names}, names
    )
    ww.study("atlas", directory, out=directory)
    return directory


def pair_verdict(home: Path, item: str) -> Any:
    verdicts = pd.read_csv(home / "verdicts.csv", keep_default_na=False)
    (row,) = verdicts[(verdicts["item"] == item) & (verdicts["claim"] == BOTH)].itertuples()
    return row


@pytest.mark.slow
def test_a_pair_that_was_read_in_two_sweeps_is_marked_and_one_that_is_read_together_is_judged(tmp_path: Path):
    home, in_order = tmp_path / "shipped", [300.0, 400.0, 500.0, 600.0]
    other = {"letter-21": [300.0] * 4, "number-21": in_order}
    ship_atlas.ship_atlas(sweep_of(tmp_path / "other", other), home)
    judged = pair_verdict(home, "letter-21")
    assert (judged.partner, judged.met, judged.why) == ("number-21", "True", "")
    ship_atlas.ship_atlas(sweep_of(tmp_path / "a", {"letter-20": [300.0] * 4}), home)
    ship_atlas.ship_atlas(sweep_of(tmp_path / "b", {"number-20": in_order}), home)
    apart = pair_verdict(home, "letter-20")
    assert (apart.partner, apart.met, apart.why) == ("number-20", "", ship_atlas.READ_APART)
    both = {"letter-20": [300.0] * 4, "number-20": in_order}
    ship_atlas.ship_atlas(sweep_of(tmp_path / "c", both), home)
    together = pair_verdict(home, "letter-20")
    assert (together.partner, together.met, together.why) == ("number-20", "True", "")
    ship_atlas.ship_atlas(tmp_path / "b", home)  # the same run again: the verdict stays true
    assert pair_verdict(home, "letter-20").met == "True"
    ship_atlas.ship_atlas(sweep_of(tmp_path / "d", {"number-20": [100.0, 200.0, 700.0, 800.0]}), home)
    assert pair_verdict(home, "letter-20").why == ship_atlas.READ_APART  # it was judged with a run that is gone
    assert pair_verdict(home, "letter-21").met == "True"


@pytest.mark.slow
def test_an_item_of_the_same_condition_and_seed_is_replaced_whatever_its_name(tmp_path: Path):
    home = tmp_path / "shipped"
    ship_atlas.ship_atlas(sweep_of(tmp_path / "a", {"letter-old-20": [300.0] * 4}), home)
    ship_atlas.ship_atlas(sweep_of(tmp_path / "b", {"letter-new-20": [300.0] * 4}), home)
    for name in TABLES:
        assert set(pd.read_csv(home / f"{name}.csv")["item"]) == {"letter-new-20"}


def test_what_ships_has_every_run_by_the_authors_recipe_and_a_true_reason_for_pairs_without_verdict():
    items = from_frame(Item, pd.read_csv(SHIPPED_AT / "items.csv"))
    verdicts = pd.read_csv(SHIPPED_AT / "verdicts.csv", keep_default_na=False)
    anchors = {(item.task, item.data, item.seed) for item in items if "recipe paper" in item.condition}
    trained = [take.about(name)["training"] for name in (*SHIPPED, *take.further_seeds())]
    data = {"letter": "generator", "number": "distractors"}
    assert anchors == {(one["task"]["name"], one["task"][data[one["task"]["name"]]], one["seed"]) for one in trained}
    partners = partners_of(items)
    assert len({(item.task, item.condition, item.seed) for item in items}) == len(items)
    unjudged = (verdicts["why"] == NO_PARTNER) | verdicts["why"].str.contains("no results of .* on number")
    assert not set(verdicts.loc[unjudged, "item"]) & set(partners)


@pytest.mark.slow
def test_the_anchors_that_ship_follow_from_the_results_in_the_zoo(tmp_path: Path):
    results = Results.open(ATLAS, ship_atlas.read_anchors(tmp_path) / "atlas")
    shipped = pd.read_csv(SHIPPED_AT / "outcomes.csv").set_index(["item", "outcome"])["value"]
    found = results["outcomes"].set_index(["item", "outcome"])["value"]
    assert len(found) > 400
    assert found.to_numpy() == pytest.approx(shipped.reindex(found.index).to_numpy(), rel=1e-5, nan_ok=True)
    last = results["map"].query("claim == 'letter-last-layer-last' and condition == 'recipe paper'")
    assert (round(float(last["share"].iloc[0]) * 3), last["n"].iloc[0]) == (2, 3)


def test_what_was_not_read_yet_or_is_too_large_is_not_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_sweep(tmp_path / "a", {"letter-20": Options("letter")}, {"letter-20": [300] * 4})
    with pytest.raises(WhatwhereError, match=r"expected results with a manifest.json"):
        ship_atlas.ship_atlas(tmp_path / "a", tmp_path / "shipped")
    ww.study("atlas", tmp_path / "a", out=tmp_path / "a")
    monkeypatch.setattr(ship_atlas, "MOST_BYTES", 100)
    with pytest.raises(WhatwhereError, match="expected tables of at most 100 bytes together, got"):
        ship_atlas.ship_atlas(tmp_path / "a", tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()
