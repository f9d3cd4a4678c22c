"""The page of the atlas in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_world import use_shipped, write_shipped
from page_browser import Open, drawn, saved, table
from playwright.sync_api import expect

import whatwhere as ww
from whatwhere.page import write_page


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_shipped(tmp_path / "shipped", monkeypatch)
    write_shipped(tmp_path / "shipped")
    return write_page(ww.study("atlas", out=tmp_path).directory)


@pytest.mark.slow
def test_the_map_shows_every_cell_and_a_click_opens_the_curves_of_its_items(made: Path, visit: Open) -> None:
    page = visit(made)
    cells = table(made.parent / "map.csv")
    buttons = page.locator(".atlas button")
    expect(buttons).to_have_count(len(cells))
    signs = {"holds": "+", "fails": "\N{EN DASH}"}
    for verdict, sign in signs.items():
        expect(page.locator(f".atlas button.{verdict}")).to_have_count(
            sum(cell["verdict"] == verdict for cell in cells)
        )
        assert set(page.locator(f".atlas button.{verdict}").all_inner_texts()) == {sign}
    failing = page.locator(".atlas button.fails").first
    failing.click()
    expect(failing).to_have_attribute("aria-pressed", "true")
    opened = page.locator("#atlas-details")
    expect(opened).to_contain_text("rate x2: fails, with 0 of 3 seeds")
    expect(opened.locator("figure.chart")).to_have_count(3)
    name = opened.locator("figure.chart").first.get_attribute("data-figure") or ""
    drawn(page, name)
    item = next(row["item"] for row in table(made.parent / "items.csv") if row["condition"] == "rate x2")
    curve = saved(page, name)
    assert {row["item"] for row in curve} <= {row["item"] for row in table(made.parent / "items.csv")}
    assert len(curve) == sum(row["item"] == item for row in table(made.parent / "curves.csv"))


@pytest.mark.slow
def test_the_papers_statements_can_be_shown_alone_and_answers_stand_beside_predictions(made: Path, visit: Open) -> None:
    page = visit(made)
    before = page.locator(".atlas tbody tr").count()
    kinds = {row["claim"]: row["kind"] for row in table(made.parent / "map.csv")}
    page.get_by_label("the paper’s own statements alone").check()  # noqa: RUF001
    expect(page.locator(".atlas tbody tr")).to_have_count(sum(kind == "trained" for kind in kinds.values()))
    assert before == len(kinds)
    answers = page.locator("#atlas-answers")
    expect(answers.locator("h3")).to_have_count(7)
    for row in table(made.parent / "answers.csv"):
        expect(answers).to_contain_text(row["sentence"])
        expect(answers).to_contain_text(row["expected"])
    drawn(page, "atlas-effects")
    page.get_by_label("Outcome", exact=True).select_option("pure_share")
    rows = saved(page, "atlas-effects")
    assert {row["outcome"] for row in rows} == {"pure_share"}
