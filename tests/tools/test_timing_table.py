"""The page of when things are learned is what the shipped tables say."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from timing_table import page, rate_time

DOCUMENT = Path(__file__).parents[2] / "docs" / "timing.md"


@pytest.mark.slow
def test_the_page_is_what_the_shipped_tables_say() -> None:
    assert page() == DOCUMENT.read_text(), "make it again: python tools/timing_table.py > docs/timing.md"


def test_rate_time_is_the_sum_of_rates_in_steps_at_the_peak() -> None:
    metrics = pd.DataFrame({"step": [0, 10, 20, 40], "lr": [0.0, 2.0, 2.0, 0.0]})
    assert [rate_time(metrics, step) for step in (0, 10, 15, 20, 40)] == [0, 5, 10, 15, 25]
