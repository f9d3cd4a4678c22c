from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import read_csv, write_csv
from whatwhere.work.sweep_figures import draw_sweep, groups_of, settings_of

COLUMNS = ["item", "status", "task", "seed", "heads", "accuracy", "accuracy_hop1", "positional", "positional_max",
           "symbolic", "symbolic_max", "half_length", "model", "problem"]  # fmt: skip
ROWS = [
    ["a", "done", "number", 0, 1, 0.5, 0.5, 0.9, 1.0, 0.1, 0.2, 54.0, "", ""],
    ["b", "done", "number", 1, 1, 0.6, 0.6, 0.9, 1.0, 0.1, 0.2, float("inf"), "", ""],
    ["c", "done", "letter", 0, 2, 0.7, 0.7, 0.1, 0.2, 0.9, 1.0, 60.0, "", ""],
    ["d", "failed", "letter", 1, 2, "", "", "", "", "", "", "", "", "</script><b>broke</b>"],
    ["e", "done", "letter", "", "", 1.0, 1.0, 0.1, 0.2, 0.9, 1.0, "", "runs/x", ""],
]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    write_csv(tmp_path / "sweep.csv", COLUMNS, ROWS)
    heads = [[item, 0, 0, 0.5, 0.5, 1.0] for item in "abce"]
    write_csv(tmp_path / "heads.csv", ["item", "layer", "head", "positional", "symbolic", "entropy"], heads)
    return tmp_path


def test_items_that_differ_only_in_their_seed_stand_together(sweep: Path):
    rows = read_csv(sweep / "sweep.csv", "it", COLUMNS)
    assert settings_of(rows) == ["task", "heads"]
    names = {name: [row["item"] for row in group] for name, group in groups_of(rows).items()}
    assert names == {"number, heads 1": ["a", "b"], "letter, heads 2": ["c"], "model runs/x": ["e"]}


def test_a_figure_and_a_page_come_from_the_tables_alone(sweep: Path):
    pdf, png, page = draw_sweep(sweep)
    assert pdf.read_bytes().startswith(b"%PDF")
    assert png.read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert "number, heads 1" in text
    assert "</script><b>broke" not in text  # what an error says is text, never markup


def test_one_item_without_scores_is_drawn_as_well(tmp_path: Path):
    write_csv(tmp_path / "sweep.csv", COLUMNS, [["a", "failed", "number", 0, *[""] * 9, "it broke"]])
    assert [path.is_file() for path in draw_sweep(tmp_path)] == [True] * 3


def test_a_directory_without_a_table_is_refused(tmp_path: Path):
    with pytest.raises(WhatwhereError, match="the table of the sweep was expected at"):
        draw_sweep(tmp_path)
