"""The part of the study ``vocabularies`` in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_browser import Open, drawn, saved, table
from playwright.sync_api import expect
from vocabularies_world import write_sizes

import whatwhere as ww
from whatwhere.page import write_page

pytestmark = pytest.mark.slow


def test_costs_of_the_chosen_outcome_are_drawn_and_every_run_is_listed(tmp_path: Path, visit: Open) -> None:
    found = ww.study("vocabularies", write_sizes(tmp_path / "sweep"), out=tmp_path / "out")
    page = visit(write_page(found.directory))
    expect(page.locator("h1")).to_contain_text("Sequence length, hop length or vocabulary size")
    drawn(page, "vocabularies-costs")
    rows = saved(page, "vocabularies-costs")
    assert {row["outcome"] for row in rows} == {"steps"}
    costs = table(found.directory / "costs.csv")
    assert len(rows) == sum(row["outcome"] == "steps" for row in costs)
    page.get_by_label("Outcome", exact=True).select_option("accuracy_x4")
    assert {row["outcome"] for row in saved(page, "vocabularies-costs")} == {"accuracy_x4"}
    expect(page.locator("#vocabularies table tbody tr")).to_have_count(12)
