"""The part of the study ``forecast`` in a real browser."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path

import pytest
from page_browser import Open, drawn, saved
from page_results import write_results
from playwright.sync_api import expect

from whatwhere.heads.estimate import Estimate
from whatwhere.page import write_page
from whatwhere.studies.forecast.calibration import calibration_rows, points
from whatwhere.studies.forecast.tables import CARRIED, CHAIN, DISPERSION, MeasuredBreak, PredictedBreak, Variant
from whatwhere.tasks import make_task

pytestmark = pytest.mark.slow
LONGEST = 1000
BREAKS = {"as-trained": 56.0, "logits-0.5": 40.0, "base-10": nan}


def test_predicted_and_measured_lengths_come_from_the_tables(tmp_path: Path, visit: Open) -> None:
    sure = Estimate(1.0, 0.98, 1.0, 96)
    tables = {
        "variants": [Variant("number", "f" * 16, "number", name, False, 17, sure, True) for name in BREAKS],
        "forecasts": [
            PredictedBreak("number", name, method, below, factor * length * below, method == CARRIED and isnan(length))
            for name, length in BREAKS.items()
            for method, factor in ((CARRIED, 1.5), (CHAIN, 2.0), (DISPERSION, nan))
            for below in (0.5, 0.9)
        ],
        "breaks": [
            MeasuredBreak("number", name, below, Estimate(at, at - 4, at + 4, 24), LONGEST)
            for name, at in BREAKS.items()
            for below in (0.5, 0.9)
        ],
    }
    kept = {Variant: "variants", PredictedBreak: "forecasts", MeasuredBreak: "breaks"}
    tables["calibration"] = calibration_rows(points(lambda _, kind: tables[kept[kind]]))
    write_results("forecast", tmp_path, {"task": make_task("number").to_dict()}, tables)
    page = visit(write_page(tmp_path / "forecast"))
    expect(page.locator("h1")).to_contain_text("Can inputs of the training length predict where a model breaks?")
    drawn(page, "forecast")
    rows = saved(page, "forecast")
    assert len(rows) == 10
    found = {row["variation"]: row for row in rows if (row["method"], row["threshold"]) == ("carried", "0.5")}
    lengths = {name: (float(row["predicted"]), float(row["measured"])) for name, row in found.items()}
    assert lengths == {"as-trained": (42, 56), "logits-0.5": (30, 40), "base-10": (LONGEST, LONGEST)}
    marks = page.locator("[data-figure=forecast] svg [aria-label=dot] > *")
    expect(marks).to_have_count(3)
    page.get_by_label("Method").select_option("chain")
    expect(marks).to_have_count(2)  # it says nothing of one
    page.get_by_label("Method").select_option("dispersion")
    expect(marks).to_have_count(0)
    expect(page.locator("#forecast table")).to_contain_text("held out: 2 break, 1 do not")
