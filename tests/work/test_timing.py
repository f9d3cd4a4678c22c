import io
from math import isnan, nan
from pathlib import Path

import pandas as pd
import pytest

from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import to_frame, write_csv
from whatwhere.work.executor import Job
from whatwhere.work.timing import Timing, duration, size, timings


def test_our_times_stand_beside_the_authors(tmp_path: Path):
    manifest = Manifest(tmp_path / "number" / "dynamics")
    manifest.begin("dynamics", {}, {})
    manifest.put("scores.csv", b"12345")
    manifest.finish(100.0)
    jobs = [
        Job("dynamics-number", "", "", {"directory": str(manifest.directory)}),
        Job("theorems", "", "", {"directory": str(tmp_path / "theorems")}),
        Job("figures", "", "", {}),
    ]
    rows = timings(jobs, elapsed=60.0)
    assert [row.job for row in rows] == ["dynamics-number", "theorems", "total", "elapsed"]
    assert (rows[0].seconds, rows[0].authors_gpu_seconds, rows[0].authors_cpu_seconds) == (100, 18000, 30600)
    assert rows[0].bytes >= 5
    assert isnan(rows[1].seconds)
    assert rows[-1].seconds == 60
    assert rows[-1].authors_gpu_seconds == 54 * 60 + 59 + 10 * 3600
    assert rows[-1].authors_cpu_seconds == 17 * 3600
    assert pd.read_csv(io.BytesIO(write_csv(to_frame(Timing, rows))))["job"].tolist() == [row.job for row in rows]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.2, "4.2 s"), (59.96, "60.0 s"), (1710, "28 min 30 s"), (30600, "8 h 30 min"), (nan, "")],
)
def test_durations_for_people(seconds: float, text: str):
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(12.0, "12 B"), (1500.0, "1.5 kB"), (2.0e12, "2.0 TB"), (nan, "")])
def test_sizes_for_people(count: float, text: str):
    assert size(count) == text
