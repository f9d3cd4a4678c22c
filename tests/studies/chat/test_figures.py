from __future__ import annotations

from math import nan
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.figures import draw_llm
from whatwhere.studies.chat.table import ProfileRow, TableRow, published_rows
from whatwhere.studies.results import Results


def saved(directory: Path) -> Path:
    """Tables as a run leaves them: one whole and one partial result, of one and of several hops."""
    results = Results(directory)
    measured = [
        TableRow("m", task, size, "measured", 1, samples, 40, 0.5, nan, 0.4, 0.6, 0.5, 0.1, 0.0, 3.0, 0.1, window)
        for task, size, samples, window in (
            ("one_hop_letter", 16, 40, 0.06), ("one_hop_letter", 32, 10, 0.03), ("multi_hop_letter", 16, 40, nan),
        )
    ]  # fmt: skip
    results.write("table", [*measured, *published_rows()])
    profile = [ProfileRow("m", "one_hop_letter", 16, 1, 8, 20, 0.9, 0.7, 1.0),
               ProfileRow("m", "one_hop_letter", 16, 9, 16, 0, nan, nan, nan)]  # fmt: skip
    results.write("profile", profile)
    return directory


def test_figures_need_only_what_is_on_disk(tmp_path: Path) -> None:
    written = draw_llm(saved(tmp_path))
    assert [path.name for path in written] == [
        "figure-5cd-llm.pdf", "figure-5cd-llm.png", "profile-llm.pdf", "profile-llm.png",
    ]  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in written)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    (saved(tmp_path) / "profile.csv").unlink()
    with pytest.raises(WhatwhereError, match="the table 'profile' was expected"):
        draw_llm(tmp_path)
