"""Pages built from real results, and a real browser to open them with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from page_browser import Open
from page_results import write_reproduction
from playwright.sync_api import Browser, Page, sync_playwright

from whatwhere.page import write_page

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip


@pytest.fixture(scope="module")  # not the session: its event loop would disturb those of inspect-ai in the same process
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a worker."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        message = "chromium is not installed; install it (Debian: apt-get install chromium) to test the page"
        if os.environ.get("CI_REQUIRES_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens a page; afterwards nothing may have gone wrong in it, and nothing but the file itself been asked for."""
    troubles: list[str] = []
    asked: list[str] = []
    allowed: set[str] = set()
    contexts = []

    def opened(path: Path, **options: Any) -> Page:
        allowed.add(path.as_uri())
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=true]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
    assert set(asked) == allowed


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a reproduction, which the first worker makes for all of this run."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    directory = root / "reproduction"
    with FileLock(root / "reproduction.lock"):
        if not (directory / "report.html").is_file():
            write_reproduction(directory)
            write_page(directory)
    return directory / "report.html"
