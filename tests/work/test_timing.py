from math import isnan, nan
from pathlib import Path

import pytest

from whatwhere.work.stage import Record
from whatwhere.work.timing import duration, size, timings, write_timings


def test_our_times_stand_beside_the_authors(tmp_path: Path) -> None:
    rows = timings([Record("train-number", "", "", 100.0, 5), Record("theory", "", "", 2.0, 7)], elapsed=60.0)
    assert (rows[0].authors_gpu_seconds, rows[-2].seconds, rows[-2].bytes) == (1710, 102, 12)
    assert (rows[-1].stage, rows[-1].seconds) == ("elapsed", 60)
    assert isnan(rows[1].authors_gpu_seconds)
    assert rows[-1].authors_gpu_seconds == 54 * 60 + 59 + 10 * 3600
    assert rows[-1].authors_cpu_seconds == 17 * 3600
    write_timings(tmp_path / "timing.csv", rows)
    assert (tmp_path / "timing.csv").read_text().splitlines()[2].startswith("theory,2,7,,,,")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.2, "4.2 s"), (59.96, "60.0 s"), (1710, "28 min 30 s"), (30600, "8 h 30 min"), (nan, "")],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(12.0, "12 B"), (1500.0, "1.5 kB"), (2.0e12, "2.0 TB"), (nan, "")])
def test_sizes_for_people(count: float, text: str) -> None:
    assert size(count) == text
