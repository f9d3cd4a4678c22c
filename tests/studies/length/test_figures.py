from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.length.breaks import break_rows
from whatwhere.studies.length.figures import draw_comparison, draw_length
from whatwhere.studies.length.hop_tables import HopRow
from whatwhere.studies.length.measure import LengthAccuracy
from whatwhere.studies.results import Results


def saved(directory: Path, task: str) -> Path:
    """Results as a run leaves them, of a head that breaks between 17 and 65."""
    results = Results(directory)
    results.begin({"task": {"name": task}})
    accuracy = [
        LengthAccuracy("as trained", length, hop, share, share - 0.05, min(share + 0.05, 1.0), 100)
        for length, share in ((17, 1.0), (65, 0.3))
        for hop in (1, 2, 0)
    ]
    hops = [
        HopRow(source, length, 0, 0, 1, 1, margin, margin - 1, margin + 1, mass, mass, mass, mass, mass, mass, mass,
               mass, mass, 100)
        for source in ("measured", "foretold")
        for length, margin, mass in ((17, 3.0, 0.95), (65, -1.0, 0.2))
    ]  # fmt: skip
    results.write("accuracy", accuracy)
    results.write("hops", hops)
    results.write("breaks", break_rows(accuracy, hops, []))
    return directory


def test_figures_need_only_what_is_on_disk(tmp_path: Path) -> None:
    written = draw_length(saved(tmp_path / "a", "number"))
    assert [path.name for path in written] == [
        "figure-5b-length.pdf",
        "figure-5b-length.png",
        "margins.pdf",
        "margins.png",
    ]
    assert all(path.stat().st_size > 5000 for path in written)


@pytest.mark.slow
def test_the_same_results_give_the_same_file(tmp_path: Path) -> None:
    first, second = (draw_length(saved(tmp_path / name, "letter")) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_models_are_compared_in_one_figure(tmp_path: Path) -> None:
    directories = {name: saved(tmp_path / name, task) for name, task in (("a", "number"), ("b", "letter"))}
    assert [path.name for path in draw_comparison(directories, tmp_path)] == ["comparison.pdf", "comparison.png"]


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    directory = saved(tmp_path, "number")
    (directory / "accuracy.csv").unlink()
    with pytest.raises(WhatwhereError, match="the table 'accuracy' was expected"):
        draw_length(directory)
