"""What tests do with an open page."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

Open = Callable[..., Page]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def saved(page: Page, figure: str) -> list[dict[str, str]]:
    """What the CSV button of a figure saves."""
    with page.expect_download() as download:
        page.locator(f"[data-figure={figure}] button.csv").click()
    assert download.value.suggested_filename == f"{figure}.csv"
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))


def slide(page: Page, selector: str, value: float) -> None:
    page.locator(selector).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def drawn(page: Page, figure: str) -> None:
    page.locator(f"[data-figure={figure}] svg").first.wait_for()
