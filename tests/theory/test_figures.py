import csv
import math
from pathlib import Path

import numpy as np
import pytest

from whatwhere.theory.discrepancy import index_smallest, retrieval_smallest
from whatwhere.theory.figures import discrepancy_rows, draw_discrepancy, draw_geometry, draw_margin_map
from whatwhere.theory.reach import margin_map


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def drawn(directory: Path, name: str) -> None:
    assert (directory / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert (directory / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_discrepancy_figure_holds_the_values_of_the_paper_s_curves_and_the_exact_ones(tmp_path: Path):
    draw_discrepancy(discrepancy_rows(), tmp_path)
    drawn(tmp_path, "figure-5a-discrepancy")
    rows = {int(row["n"]): row for row in table(tmp_path / "figure-5a-discrepancy.csv")}
    assert list(rows) == list(range(2, 101))
    printed = {2: (0.3033, 0.3521, 0.2891), 8: (0.3033, 0.3084, 0.2778), 9: (0.2437, 0.2437, 0.2759)}
    printed |= {17: (0.0683, 0.0683, 0.2612), 25: (0.0316, 0.0316, 0.2468), 50: (0.0079, 0.0079, 0.2042)}
    for n, values in printed.items():
        names = ("index_caption_bound", "index_printed_bound", "retrieval_printed_bound")
        assert [float(rows[n][name]) for name in names] == pytest.approx(values, abs=6e-5)
    assert float(rows[100]["index_smallest"]) == pytest.approx(index_smallest(100, 0.866))
    assert float(rows[100]["retrieval_smallest"]) == pytest.approx(retrieval_smallest(100, 0.0027))


def test_past_the_margin_the_exact_curve_is_undefined_not_zero():
    rows = discrepancy_rows(150)
    assert math.isnan(rows[-1]["retrieval_smallest"])
    assert rows[144]["n"] == 146
    assert rows[144]["retrieval_smallest"] > 0


@pytest.mark.slow
def test_the_geometry_figure_holds_one_key_and_a_query_that_meets_it_once(tmp_path: Path):
    draw_geometry(tmp_path)
    drawn(tmp_path, "figure-4a-geometry")
    rows = table(tmp_path / "figure-4a-geometry.csv")
    rotated = [(float(row["x"]), float(row["y"])) for row in rows if row["vector"] == "query 3 rotated"]
    meets = [distance for distance, (x, y) in enumerate(rotated) if math.hypot(x, y - 1) < 1e-9]
    assert meets == [3]
    assert sum(row["vector"] == "query" for row in rows) == 8


@pytest.mark.slow
def test_the_map_is_drawn_with_its_data(tmp_path: Path):
    margins = margin_map(np.geomspace(1e-3, 1, 7), np.array([3, 17, 100]))
    draw_margin_map(margins, tmp_path)
    drawn(tmp_path, "margin-map")
    assert len(table(tmp_path / "margin-map.csv")) == 21


@pytest.mark.slow
def test_the_same_numbers_draw_the_same_bytes(tmp_path: Path):
    draw_geometry(tmp_path / "a")
    draw_geometry(tmp_path / "b")
    for name in ("figure-4a-geometry.pdf", "figure-4a-geometry.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
