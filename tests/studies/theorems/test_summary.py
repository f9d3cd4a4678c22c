from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.studies.theorems import THEOREMS
from whatwhere.studies.theorems.tables import CheckRow


def test_checks_and_tables_are_told(whole: Results) -> None:
    text = whole.summary
    assert text.startswith("Theorems 1 and 2 on hand-built heads: 22 of 22 checks passed, on 2,200 inputs and lengths.")
    assert "pass  small_index_inputs with [brackets] (100 cases)" in text
    assert "Least inverse temperature by length" in text
    assert "Smallest discrepancy by length" in text
    assert "frequency IDs 1-6, 8-22 leave T_Index a margin above 0.001, and IDs 27-64" in text
    assert "…" not in whole.printed(80)


@pytest.mark.slow
def test_a_check_that_fails_is_seen(whole: Results) -> None:
    failing = Results(THEOREMS, whole.settings, "theory")
    for name in THEOREMS.tables:
        failing.write(name, whole.rows(name, THEOREMS.row_type(name)))
    first, *rest = whole.rows("checks", CheckRow)
    failing.write("checks", [replace(first, errors=3, passed=False), *rest])
    assert "21 of 22 checks passed" in failing.summary
    assert "FAIL  number_decomposition with [brackets] (3 of 100 cases fail)" in failing.summary


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        (
            {"theta": 0.0, "beta": 12.0},
            ["longest input at any inverse temperature: 100,000 tokens or more",
             "longest input at inverse temperature 12: 34 tokens",
             "needed there: none serves"],
        ),
        (
            {"theta": 0.9, "letters": 4},
            ["T_Retrieval over 4 letters at angle 0.9", "longest input at any inverse temperature: 2 tokens"],
        ),
        ({"theta": 0.9}, ["none of 2 tokens or more"]),
        ({"theta": 1.0}, ["needed there: above 18 (the lemma's estimate: 69.6)", "710 tokens"]),
    ],
)  # fmt: skip
def test_one_angle_in_words(settings: dict[str, Any], lines: list[str]) -> None:
    text = study("theorems", **settings).summary
    assert all(line in text for line in lines), text
