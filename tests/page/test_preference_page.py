"""The part of the study ``preference`` in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_browser import Open, drawn, saved
from page_results import write_results
from playwright.sync_api import expect

from whatwhere.heads.estimate import Estimate
from whatwhere.page import write_page
from whatwhere.studies.preference.tables import READINGS, Accuracy, Answer, HeadScore
from whatwhere.tasks import make_task
from whatwhere.tasks.both import WHERE

pytestmark = pytest.mark.slow


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.02, value + 0.02, 40)


def test_the_chosen_hops_and_conflict_are_drawn_from_the_tables(tmp_path: Path, visit: Open) -> None:
    hops, lengths = (None, 1, 2), (9, 145, 850)
    shares = {(where, hop): 0.3 + 0.1 * (where == "every") + 0.05 * (hop or 0) for where in WHERE for hop in hops}
    tables = {
        "accuracy": [Accuracy(n, hop, estimate(0.9)) for n in lengths for hop in hops],
        "answers": [
            Answer(where, n, hop, reading, estimate(share))
            for (where, hop), share in shares.items()
            for n in lengths
            for reading in READINGS
        ],
        "heads": [HeadScore(0, 0, estimate(0.25), estimate(0.75))],
    }
    write_results("preference", tmp_path, {"task": make_task("both").to_dict()}, tables)
    page = visit(write_page(tmp_path / "preference"))
    expect(page.locator("h1")).to_contain_text("Where letters and distances disagree")
    drawn(page, "preference")
    page.get_by_label("Hops").select_option("2")
    page.get_by_label("Cues disagree on").select_option("last")
    rows = saved(page, "preference")
    assert {row["line"] for row in rows} == {"symbolic", "positional", "right where the cues agree"}
    shares = [float(row["share"]) for row in rows if row["line"] == "symbolic"]
    assert shares == pytest.approx([0.4] * len(shares))
    assert shares
    assert [row["length"] for row in rows if row["line"] == "positional"] == ["9", "145", "850"]
    expect(page.locator("#preference table")).to_contain_text("0.75")
