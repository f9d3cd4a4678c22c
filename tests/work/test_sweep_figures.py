from pathlib import Path

import pandas as pd
import pytest

from whatwhere.work.sweep_figures import draw_sweep, outcome_columns, varied_columns, with_groups

TABLE = pd.DataFrame(
    {
        "item": ["a", "b", "c", "d"],
        "status": ["done", "done", "done", "failed"],
        "task": ["number", "number", "letter", "letter"],
        "seed": [0, 1, 0, 1],
        "heads": [1, 1, 2, 2],
        "preset": ["short"] * 4,
        "steps": [10, 10, 12, None],
        "accuracy": [0.9, 1.0, 0.8, None],
        "accuracy_hop1": [0.9, 1.0, 0.8, None],
        "length_half_length": [49.0, 51.0, None, None],
        "problem": ["", "", "", "it <b>broke</b>"],
    }
)


def test_what_was_varied_and_what_was_measured_are_told_apart():
    assert varied_columns(TABLE) == ["task", "heads"]
    assert outcome_columns(TABLE) == ["accuracy", "accuracy_hop1", "length_half_length"]


def test_items_that_differ_in_their_seed_alone_share_a_group():
    assert with_groups(TABLE)["group"].tolist() == [
        "number, heads 1",
        "number, heads 1",
        "letter, heads 2",
        "letter, heads 2",
    ]


def test_a_table_of_one_item_is_named_after_its_task():
    assert with_groups(TABLE.head(1))["group"].tolist() == ["number"]


@pytest.mark.parametrize("rows", [4, 1])
def test_a_sweep_gets_a_figure_and_a_page(tmp_path: Path, rows: int):
    files = draw_sweep(TABLE.head(rows), tmp_path)
    assert sorted(path.name for path in files) == ["sweep.html", "sweep.pdf", "sweep.png"]
    assert "<b>broke" not in (tmp_path / "sweep.html").read_text()


def test_a_sweep_in_which_nothing_was_done_has_a_page_as_well(tmp_path: Path):
    draw_sweep(TABLE.tail(1), tmp_path)
    assert (tmp_path / "sweep.html").is_file()
