"""The page of one study, heads, in a real browser, on a text that tries to break out."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from page_browser import Open
from page_results import HOSTILE, LABELS, SCORES, write_heads
from playwright.sync_api import expect

from whatwhere.page import write_page


@pytest.fixture
def made(tmp_path: Path) -> Path:
    write_heads(tmp_path / "analysis-<b>small")
    return write_page(tmp_path / "analysis-<b>small" / "heads")


def cell(layer: int, head: int) -> str:
    return f".headmap button >> nth={head * 3 + layer}"


@pytest.mark.slow
def test_the_map_shows_every_head_with_both_scores(made: Path, visit: Open) -> None:
    page = visit(made)
    expect(page.locator(".headmap button")).to_have_count(6)
    for (layer, head), label in zip(SCORES, LABELS, strict=True):
        shown = page.locator(cell(layer, head)).get_attribute("aria-label") or ""
        positional, symbolic = SCORES[layer, head]
        if label != "undefined":
            assert shown == f"layer {layer} head {head}: {label}, positional {positional:.2f}, symbolic {symbolic:.2f}"
        assert page.locator(cell(layer, head)).get_attribute("data-kind") == label
    expect(page.locator(".counts")).to_have_text("6 heads: 1 positional, 1 symbolic, 1 uniform, 2 mixed, 1 undefined.")


def test_text_from_outside_stays_text(made: Path, visit: Open) -> None:
    page = visit(made)
    assert page.title().startswith("heads <b>small: ")
    assert page.locator("img").count() == 0
    expect(page.locator("[data-position='2']")).to_have_text(HOSTILE)
    expect(page.locator("#lead")).to_contain_text(f"LlamaForCausalLM on {HOSTILE}.txt: 2 windows of 7 tokens")
    assert HOSTILE not in made.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("begins", "said"),
    [("<s>user\n", r'Each window begins with "<s>user\n".'), ("", "No token was put before the text.")],
)
def test_the_page_says_how_windows_began(begins: str, said: str, tmp_path: Path, visit: Open) -> None:
    write_heads(tmp_path / "analysis-small", begins=begins)
    page = visit(write_page(tmp_path / "analysis-small" / "heads"))
    expect(page.locator("#lead")).to_contain_text(f"pure within gamma 0.1. {said} Rebuilt attention")


@pytest.mark.slow
def test_a_head_opens_by_click_and_by_arrow_keys(made: Path, visit: Open) -> None:
    page = visit(made)
    title = page.locator("#details h3").first
    page.locator(cell(1, 0)).click()
    expect(title).to_have_text("Layer 1, head 0")
    expect(page.locator(".facts")).to_contain_text("0.02 (0.01 to 0.04)")
    expect(page.locator(".facts")).to_contain_text("symbolic: follows what")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text("Layer 0, head 0")
    page.keyboard.press("ArrowDown")
    expect(title).to_have_text("Layer 0, head 1")
    page.keyboard.press("ArrowDown")
    expect(title).to_have_text("Layer 0, head 1")
    expect(page.locator(cell(0, 1))).to_be_focused()
    expect(page.locator("tr[data-chosen=true] button")).to_have_text("0.1")


@pytest.mark.slow
def test_attention_is_shown_on_the_text_for_each_query(made: Path, visit: Open) -> None:
    page = visit(made)
    page.locator(cell(2, 0)).click()
    expect(page.locator(".most")).to_contain_text("From  sat at 6 it looks at")
    expect(page.locator(".most")).to_contain_text(" cat 5 back (0.40),  sat (itself) (0.05)")
    expect(page.locator("[data-position='1']")).to_have_attribute("title", "1: 0.400")
    expect(page.locator("[data-position='6']")).to_have_class("seen query")
    page.get_by_label("Query").select_option("3")
    expect(page.locator(".most")).to_have_text("From ⏎ at 3 it looks at The 3 back (1.00).")
    expect(page.locator("[data-position='5']")).to_have_class("later")


@pytest.mark.slow
def test_any_column_sorts_and_undefined_comes_last(made: Path, visit: Open) -> None:
    page = visit(made)
    names = page.locator(".list tbody button")
    expect(names).to_have_text(["1.1", "0.0", "2.0", "0.1", "1.0", "2.1"])  # the most positional first
    page.get_by_role("button", name="symbolic", exact=True).press("Enter")
    expect(names).to_have_text(["1.1", "1.0", "0.1", "2.0", "0.0", "2.1"])
    expect(page.locator(".list th[aria-sort=descending]")).to_have_text("symbolic ↓")
    page.get_by_role("button", name="symbolic ↓").click()
    expect(names).to_have_text(["0.0", "2.0", "0.1", "1.0", "1.1", "2.1"])
    page.get_by_label("Open layer 1 head 1").click()
    expect(page.locator("#details h3").first).to_have_text("Layer 1, head 1")


@pytest.mark.slow  # a browser is started
def test_the_other_scores_colour_and_sort_anew(made: Path, visit: Open) -> None:
    page = visit(made)
    page.get_by_label("Scores").select_option("rest")
    expect(page.locator(cell(0, 0))).to_have_attribute("data-kind", "symbolic")
    expect(page.locator(".list tbody button").nth(1)).to_have_text("1.0")


@pytest.mark.slow
def test_the_table_can_be_saved(made: Path, visit: Open) -> None:
    page = visit(made)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the data of heads as CSV").click()
    saved = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert [(int(line["layer"]), int(line["head"])) for line in saved] == list(SCORES)
    assert [line["positional"] for line in saved][:2] == ["0.97", "0.3"]
    assert saved[-1]["positional"] == ""


@pytest.mark.slow
def test_it_fits_a_phone_and_turns_dark(made: Path, visit: Open) -> None:
    page = visit(made, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Change to dark colours").tap()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.locator(cell(1, 1)).tap()
    expect(page.locator("#details h3").first).to_have_text("Layer 1, head 1")


@pytest.mark.slow
def test_heads_that_were_left_out_are_blank_and_do_not_open(tmp_path: Path, visit: Open) -> None:
    write_heads(tmp_path, [(0, 1), (2, 0)])
    page = visit(write_page(tmp_path / "heads"))
    title = page.locator("#details h3").first
    expect(title).to_have_text("Layer 2, head 0")
    blank = page.locator(cell(1, 0))
    assert (blank.get_attribute("aria-label") or "").endswith("not scored")
    blank.click()
    expect(title).to_have_text("Layer 2, head 0")
