from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.studies.theorems import THEOREMS, measure
from whatwhere.studies.theorems.tables import CheckRow, Discrepancy, LayerMargin, Margin, PlaneVector, Temperature
from whatwhere.theory.check import Check
from whatwhere.theory.discrepancy import index_smallest, retrieval_smallest
from whatwhere.theory.printed import frequency
from whatwhere.theory.reach import Reach
from whatwhere.theory.temperature import index_minimum_beta, retrieval_minimum_beta

LARGE = ("number_task", "letter_task")


@pytest.mark.parametrize("name", measure.CHECKS)
@pytest.mark.slow
def test_every_check_passes_on_few_inputs(name: str) -> None:
    check = measure.CHECKS[name](100)
    assert check.passed, f"{check.claim}: {check.errors} of {check.inputs}"
    assert check.inputs > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_iterated_heads_solve_the_whole_test_split_of_their_task(name: str) -> None:
    check = measure.CHECKS[name](10_000)
    assert (check.inputs, check.errors) == (45_600, 0)


@pytest.mark.slow
def test_the_curves_are_those_of_the_paper_and_the_exact_ones(whole: Results) -> None:
    rows = {(row.head, row.theta, row.n): row for row in whole.rows("discrepancy", Discrepancy)}
    printed = {2: (0.3033, 0.3521, 0.2891), 8: (0.3033, 0.3084, 0.2778), 9: (0.2437, 0.2437, 0.2759)}
    printed |= {17: (0.0683, 0.0683, 0.2612), 25: (0.0316, 0.0316, 0.2468), 50: (0.0079, 0.0079, 0.2042)}
    for n, values in printed.items():
        keys = (("index", 0.8, n), ("index", 0.866, n), ("retrieval", 0.0027, n))
        assert [rows[key].printed_bound for key in keys] == pytest.approx(values, abs=6e-5)
    assert rows["index", 0.866, 100].smallest == pytest.approx(1 - max(math.cos(t * 0.866) for t in range(1, 100)))
    exact = math.cos(98 * 0.0027) - math.cos(math.pi / 4 - 99 * 0.0027)
    assert rows["retrieval", 0.0027, 100].smallest == pytest.approx(exact)
    assert rows["retrieval", 0.0027, 146].smallest > 0 > rows["retrieval", 0.0027, 147].smallest
    assert {n for _, _, n in rows} == {*range(2, 151), 850}


def test_every_letter_layer_has_its_curve(whole: Results) -> None:
    rows = whole.rows("layers", LayerMargin)
    assert len(rows) == 12 * 99
    assert sum(row.smallest < 0 for row in rows if row.n == 100) == 7
    assert all(row.theta == pytest.approx(frequency(row.frequency_id)) for row in rows)


def test_temperatures_are_undefined_where_none_serves(whole: Results) -> None:
    rows = {(row.head, row.inputs, row.theta, row.n): row for row in whole.rows("temperatures", Temperature)}
    none = [key for key, row in rows.items() if math.isnan(row.least)]
    assert none == [
        ("retrieval", "shared left letter", 0.0, 17),
        *(("retrieval", "pointing queries", 0.0115, n) for n in (50, 100, 146)),
    ]
    assert rows["index", "in range", 0.866, 17].least == pytest.approx(index_minimum_beta(17, 0.866))
    assert rows["index", "raw task inputs", 0.8, 17].least == pytest.approx(47.4, abs=0.05)
    assert rows["retrieval", "shared left letter", 0.0027, 17].least == pytest.approx(95_766, abs=1)


def test_the_map_and_the_reach_hold_exact_margins(whole: Results) -> None:
    margins = whole.rows("margins", Margin)
    for row in margins[:: len(margins) // 50]:
        assert row.index == pytest.approx(index_smallest(row.n, row.theta), rel=1e-9)
        assert row.retrieval == pytest.approx(max(0.0, retrieval_smallest(row.n, row.theta)), abs=1e-9)
    reach = {(row.head, row.frequency_id): row for row in whole.rows("reach", Reach)}
    assert len(reach) == 128
    assert reach["retrieval", 42].margin == pytest.approx(retrieval_smallest(17, frequency(42)))
    assert reach["retrieval", 42].longest == 144
    assert reach["index", 1].longest == 710


def test_there_is_one_key_and_a_query_that_meets_it_once(whole: Results) -> None:
    rows = whole.rows("vectors", PlaneVector)
    rotated = [row for row in rows if row.vector == "rotated"]
    assert [row.number for row in rotated if math.hypot(row.x, row.y - 1) < 1e-9] == [3]
    assert [row.number for row in rows if row.vector == "query"] == list(range(1, 9))
    assert [(row.x, row.y) for row in rows if row.vector == "key"] == [(0, 1)]


def test_an_interrupted_study_goes_on_with_the_checks_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(name: str, broken: bool):
        def check(inputs: int) -> Check:
            if broken:
                raise KeyboardInterrupt
            made.append(name)
            return Check(name, inputs, 0)

        return check

    for slow in ("discrepancy_rows", "layer_rows", "margin_rows"):
        monkeypatch.setattr(measure.curves, slow, lambda *_: [])
    monkeypatch.setattr(measure, "CHECKS", {name: counted(name, name == "c") for name in "abcd"})
    with pytest.raises(KeyboardInterrupt):
        study("theorems", out=tmp_path, inputs=50)
    assert made == ["a", "b"]
    monkeypatch.setattr(measure, "CHECKS", {name: counted(name, False) for name in "abcd"})
    results = study("theorems", out=tmp_path, inputs=50)
    assert made == ["a", "b", "c", "d"]
    assert [row.name for row in results.rows("checks", CheckRow)] == made
    assert len(results) == len(THEOREMS.tables)


def test_one_angle_is_answered_for_both_heads_and_nothing_else_is_made() -> None:
    results = study("theorems", theta=0.0027, length=100, beta=20.0)
    assert list(results) == ["reach"]
    index, retrieval = results.rows("reach", Reach)
    assert (index.head, retrieval.head, retrieval.frequency_id) == ("index", "retrieval", None)
    assert retrieval.longest == 146
    assert retrieval.needed_beta == pytest.approx(retrieval_minimum_beta(100, 0.0027))
    assert retrieval.longest_at_beta is not None
    assert retrieval.longest_at_beta < 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"theta": -0.5}, "expected an angle of 0 or more"),
        ({"length": 1}, "expected a length from 2"),
        ({"length": 10**8}, "expected a length from 2 to 100,000 tokens, got 100,000,000"),
        ({"letters": 1}, "expected an alphabet of 2"),
        ({"letters": 10**9}, "expected an alphabet of 2 to 10,000 letters, got 1,000,000,000"),
        ({"integers": 0}, "expected 1 to 100,000 integers"),
        ({"beta": 0.0}, "expected an inverse temperature above 0"),
        ({"inputs": 0}, "expected inputs from 20 to 1,000,000, got 0"),
        ({"inputs": 10**9}, "expected inputs from 20 to 1,000,000, got 1,000,000,000; choose another number"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(settings: dict[str, float], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        THEOREMS.with_settings(**settings)


def test_the_study_itself_imports_nothing_heavy() -> None:
    code = (
        "import sys, whatwhere.studies.theorems; "
        "assert not {'torch', 'numpy', 'matplotlib', 'pandas'} & set(sys.modules), 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
