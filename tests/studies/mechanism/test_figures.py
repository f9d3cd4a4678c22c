"""Figures and text from tables that were written by hand, so that every number on them is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads.roles import RoleShare
from whatwhere.studies.mechanism.ablation import Ablation, Verdict
from whatwhere.studies.mechanism.figures import Tables, draw, read_tables
from whatwhere.studies.mechanism.flow import Flow, Look
from whatwhere.studies.mechanism.measure import HopAccuracy
from whatwhere.studies.mechanism.patching import Patch
from whatwhere.studies.mechanism.probe import Pointer
from whatwhere.studies.mechanism.readout import Delivery, LayersUsed, Move, Readable
from whatwhere.studies.mechanism.summary import shortcut_layers, summary
from whatwhere.studies.results import Results


@pytest.fixture
def tables() -> Tables:
    looks = tuple(
        Look(layer, position, 0 if position == 2 else position, 0.7, 0, "a" if position != 1 else "b", 0.9, "")
        for layer in range(2)
        for position in range(3)
    )
    ideal = tuple(replace(look, function="index") for look in looks)
    return Tables(
        settings={"inputs": 100},
        flow=Flow("number", ("a", "b", "2"), 2, (2, 0), "a", "b", looks, ideal),
        roles=[
            RoleShare(0, 0, "path", distance, role, 0.5, 0.4, 0.6, 100)
            for distance in (0, 1)
            for role in ("index", "itself")
        ],
        readout=[Readable(1, 0, layer, 0.25 * (layer + 1), 0.1, 0.9, 100) for layer in (-1, 0, 1)],
        deliveries=[Delivery(0, 1, 0.5, 0.4, 0.6, 100)],
        moves=[
            Move(0, 0, 2, 0.30, 0.22, 0.40, 100),
            Move(0, 0, 1, 0.70, 0.60, 0.78, 100),
            Move(1, 0, 2, 1.0, 0.34, 1.0, 2),  # too few to speak of
            Move(2, 0, 2, 0.04, 0.01, 0.08, 100),  # too small
        ],
        layers_used=[LayersUsed(1, 1.5, 1.4, 1.6, 1, 1, 0.0, 0.0, 0.04, 100, 0)],
        pointers=[Pointer(-1, 1, 1.0, 0.96, 1.0, 100, 0.1), Pointer(-1, 2, 0.2, 0.1, 0.3, 100, 0.1)],
        ablation=[
            Ablation(0, 0, 1, 1.0, 0.96, 1.0, 0.125, 0.1, 0.15, 100),
            Ablation(1, 0, 1, 1.0, 0.96, 1.0, 1.0, 0.96, 1.0, 100),
        ],
        verdicts=[Verdict(0, 0, "index", 0.9, 0.8, 0.95, 100, "1", "1", "1", "counts")],
        patching=[
            Patch(1, 1, "state", 0, 0, 0.2, 0.1, 0.4, 50, 50),
            Patch(1, 1, "state", 1, 0, 1.0, 0.93, 1.0, 50, 50),
        ],
        hops=[HopAccuracy(1, 1, 1.0, 0.96, 1.0, 100, 0.125), HopAccuracy(2, 1, 0.5, 0.4, 0.6, 100, 1.0)],
    )  # fmt: skip


def test_the_text_tells_each_number_with_its_interval_and_count(tables: Tables) -> None:
    text = summary(tables)
    for told in (
        "0.0  index 0.90 (0.80-0.95)         100 1       1 (1)                counts",
        "0           0.25 (0.10-0.90)",
        "layer 0: 2 hops 0.30 (0.22-0.40) of 100 arrivals",
        "1     1.50 (1.40-1.60)   1         0.00 (0.00-0.04)         100",
        "address of p1 at once, p2 never",
        "none        1.00 (0.96-1.00)",
        "0.0         0.12 (0.10-0.15)",
        "Each of the other 1 heads",
        "hop 1: layer 1, 1.00 (0.93-1.00) of 50 pairs",
        "1 hop   1.00 (0.96-1.00) of 100, guessing 0.12",
        "2 hops  0.50 (0.40-0.60) of 100, nothing hides the answer",
    ):
        assert told in text
    assert max(map(len, text.splitlines())) <= 80


def test_shortcuts_are_layers_with_enough_far_looks(tables: Tables) -> None:
    assert shortcut_layers(tables) == [0]
    assert "no layer fetches" in summary(replace(tables, moves=tables.moves[1:]))


def test_patching_without_pairs_or_effect_says_so(tables: Tables) -> None:
    nan = float("nan")
    assert "hop 1: no pairs" in summary(replace(tables, patching=[Patch(1, 1, "state", 0, 0, nan, nan, nan, 0, 0)]))
    assert "hop 1: none, of 50 pairs" in summary(replace(tables, patching=tables.patching[:1]))


@pytest.mark.slow
def test_figures_are_drawn_from_the_disk_alone_and_are_the_same_each_time(tables: Tables, tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.begin({"inputs": 100})
    tables.flow.save(tmp_path / "flow.json")
    for name in (
        "roles",
        "readout",
        "deliveries",
        "moves",
        "layers_used",
        "pointers",
        "ablation",
        "verdicts",
        "patching",
        "hops",
    ):
        results.write(name, getattr(tables, name))
    assert read_tables(tmp_path) == tables
    files = draw(tmp_path)
    assert sorted(file.name for file in files) == [
        "figure-3-flow.pdf",
        "figure-3-flow.png",
        "mechanism.pdf",
        "mechanism.png",
    ]
    first = [file.read_bytes() for file in files]
    assert [file.read_bytes() for file in draw(tmp_path)] == first
    (tmp_path / "moves.csv").unlink()
    with pytest.raises(WhatwhereError, match="the table 'moves' was expected"):
        draw(tmp_path)
