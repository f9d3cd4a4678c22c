import math

import numpy as np
import pytest

from whatwhere.theory.curves import discrepancy_rows, geometry_rows, margin_rows
from whatwhere.theory.discrepancy import index_smallest, retrieval_smallest
from whatwhere.theory.reach import margin_map


def test_the_discrepancies_are_those_of_the_paper_s_curves_and_the_exact_ones():
    rows = {row["n"]: row for row in discrepancy_rows()}
    assert list(rows) == list(range(2, 101))
    printed = {2: (0.3033, 0.3521, 0.2891), 8: (0.3033, 0.3084, 0.2778), 9: (0.2437, 0.2437, 0.2759)}
    printed |= {17: (0.0683, 0.0683, 0.2612), 25: (0.0316, 0.0316, 0.2468), 50: (0.0079, 0.0079, 0.2042)}
    for n, values in printed.items():
        names = ("index_caption_bound", "index_printed_bound", "retrieval_printed_bound")
        assert [rows[n][name] for name in names] == pytest.approx(values, abs=6e-5)
    assert rows[100]["index_smallest"] == pytest.approx(index_smallest(100, 0.866))
    assert rows[100]["retrieval_smallest"] == pytest.approx(retrieval_smallest(100, 0.0027))


def test_past_the_margin_the_exact_curve_is_undefined_not_zero():
    rows = discrepancy_rows(150)
    assert math.isnan(rows[-1]["retrieval_smallest"])
    assert rows[144]["n"] == 146
    assert rows[144]["retrieval_smallest"] > 0


def test_there_is_one_key_and_a_query_that_meets_it_once():
    rows = geometry_rows()
    rotated = [row for row in rows if row["vector"] == "query 3 rotated"]
    meets = [row["number"] for row in rotated if math.hypot(float(row["x"]), float(row["y"]) - 1) < 1e-9]
    assert meets == [3]
    assert [row["number"] for row in rows if row["vector"] == "query"] == list(range(1, 9))
    assert [(row["x"], row["y"]) for row in rows if row["vector"] == "key"] == [(0, 1)]


def test_the_map_has_a_row_for_each_angle_and_length():
    margins = margin_map(np.array([0.01, 0.5]), np.array([3, 17, 100]))
    rows = margin_rows(margins)
    assert [(row["theta"], row["n"]) for row in rows] == [(t, n) for t in (0.01, 0.5) for n in (3, 17, 100)]
    assert [row["index_smallest"] for row in rows] == margins.index.ravel().tolist()
    assert [row["retrieval_smallest"] for row in rows] == margins.retrieval.ravel().tolist()
