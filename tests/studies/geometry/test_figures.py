from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.studies.measuring import draw


@pytest.mark.parametrize(("task", "pictured"), [("number", True), ("letter", True), ("letter", False)])
@pytest.mark.slow
def test_figures_of_one_model_are_drawn_with_their_data(task: str, pictured: bool, made_up, tmp_path: Path) -> None:
    written = draw({task: made_up(task, pictured=pictured)}, tmp_path)
    pictures = [path for path in written if path.suffix != ".csv"]
    assert {path.stem for path in pictures} == {"frequency-use", "figure-4-geometry", "frequency-gating"}
    assert all(path.stat().st_size > 5000 for path in pictures)
    assert {path.name for path in written} >= {"frequency-gating.csv", "figure-4-geometry-vectors.csv"}


@pytest.mark.slow
def test_the_table_of_angles_shows_models_of_different_depth(made_up, tmp_path: Path) -> None:
    results = {"number": made_up("number"), "letter $2": made_up("letter", [3.0, 4.0])}
    written = draw(results, tmp_path, kind="models")
    assert [path.name for path in written] == ["table-angles.pdf", "table-angles.png", "table-angles.csv"]
    assert written[1].stat().st_size > 5000


@pytest.mark.parametrize("task", ["number", "letter"])
def test_the_summary_fits_100_columns_and_names_the_model_first(task: str, made_up) -> None:
    text = made_up(task).summary
    assert text.startswith(f"Rotary frequencies of {task}\n")
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    assert "fast closed (1-1)" in text
    assert "only fast open " in text
    assert ("Index geometry" in text) == (task == "number")
    assert ("Retrieval geometry" in text) == (task == "letter")
    assert "Closing 2 neighbouring IDs in all layers leaves accuracy at 1.000" in text
