"""The part of the study ``growth`` in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_browser import Open, drawn, saved
from page_results import write_results
from playwright.sync_api import expect

from whatwhere.page import write_page
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.growth.tables import Detector, Loss, Onset

pytestmark = pytest.mark.slow
STEPS, HEADS = (0, 10, 30), ((0, 0), (0, 1))


def test_losses_attention_and_the_chosen_head_are_drawn_from_the_tables(tmp_path: Path, visit: Open) -> None:
    tables = {
        "losses": [Loss(step, 100 * step, None, 5 - step / 10, step / 20) for step in STEPS],
        "detectors": [Detector(step, *head, step / 40, 0.25 * head[1]) for step in STEPS for head in HEADS],
        "scores": [
            Score(step, *head, "chosen", 1e-4, 0.5 + 0.25 * head[1], 0.125, 1.0, 0.5, 0.0, 8)
            for step in STEPS
            for head in HEADS
        ],
        "onsets": [Onset("positional", 0, 1, 10, 1000), Onset("copying", None, None, 30, 3000)],
    }
    write_results("growth", tmp_path, {}, tables)
    page = visit(write_page(tmp_path / "growth"))
    expect(page.locator("h1")).to_contain_text("When do the heads of a language model become positional")
    for figure in ("growth-loss", "growth-attention", "growth-head"):
        drawn(page, figure)
    assert [float(row["held_out"]) for row in saved(page, "growth-loss")] == [5, 4, 2]
    attention = saved(page, "growth-attention")
    assert [(row["tokens"], row["head"]) for row in attention] == [
        (str(100 * step), str(head)) for step in STEPS for _, head in HEADS
    ]
    assert {float(row["induction"]) for row in attention if row["head"] == "1"} == {0.25}
    assert {float(row["positional"]) for row in saved(page, "growth-head")} == {0.5}
    page.get_by_label("Head", exact=True).select_option("0.1")
    assert {float(row["positional"]) for row in saved(page, "growth-head")} == {0.75}
    rows = page.locator("#growth table tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("the model")
