from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.geometry.figures import draw_gating, draw_geometry, draw_heatmap, draw_planes
from whatwhere.studies.geometry.frequency_gating import GatedAccuracy
from whatwhere.studies.geometry.measure import FrequencyRow, PlaneWeight
from whatwhere.studies.geometry.planes import LetterMatching, PlaneVector, QueryTurn
from whatwhere.studies.results import Results


def saved(directory: Path, task: str) -> Results:
    """Results of one head with two planes, as a run leaves them."""
    results = Results(directory)
    results.begin({"task": {"name": task}})
    results.write("frequency", [PlaneWeight("variance", 0, 0, k, 1 / k, 0.5, 0.4, 0.6, 9, 0) for k in (1, 2)])
    results.write("table", [FrequencyRow("variance", 0, 0, 1.5, 1.4, 1.6, 0.9, 1, 0.5, 0.4, 0.6, 1, 9, 0)])
    results.write("vectors", [PlaneVector(0, 0, 1, role, "1", 0.0, 1.0, 3) for role in ("query", "key")])
    if task == "number":
        results.write("queries", [QueryTurn(0, 0, 1, "1-16", -1.0, -1.1, -0.9, -1.0, 0.9, 0.9, 1.0, -1.0, 9)])
    else:
        results.write("matching", [LetterMatching(0, 0, 1, 0.9, 0.8, 1.0, 9)])
    closings = (("as trained", 0, 0), ("fast closed", 1, 1), ("1-2 closed", 1, 2))
    results.write(
        "gating",
        [
            GatedAccuracy(name, a, b, b - a + 1, "all", hop, 0.5, 0.3, 0.7, 9)
            for name, a, b in closings
            for hop in (1, 0)
        ],
    )
    return results


@pytest.mark.parametrize("task", ["number", "letter"])
def test_the_picture_of_the_planes_needs_only_what_is_on_disk(task: str, tmp_path: Path) -> None:
    written = draw_planes(saved(tmp_path, task))
    assert [path.name for path in written] == ["figure-4-geometry.pdf", "figure-4-geometry.png"]
    assert all(path.stat().st_size > 5000 for path in written)


def test_frequencies_and_gating_are_drawn_from_disk(tmp_path: Path) -> None:
    results = saved(tmp_path, "letter")
    written = draw_heatmap(results) + draw_gating(results)
    assert [path.stem for path in written] == ["frequency-use"] * 2 + ["frequency-gating"] * 2
    assert all(path.stat().st_size > 5000 for path in written)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    (saved(tmp_path, "number").directory / "frequency.csv").unlink()
    with pytest.raises(WhatwhereError, match="the table 'frequency' was expected"):
        draw_geometry(tmp_path)
