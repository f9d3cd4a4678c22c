"""Pages built from real results, and a real browser to open them with."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Page, sync_playwright

from whatwhere.page import write_page
from whatwhere.studies.mechanism.examples import measure_examples
from whatwhere.zoo.load import SHIPPED, SHIPPED_AT, load

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
HOSTILE = "</script><img src=x onerror=\"document.title='ran'\"><b>"
CLAIM = {
    "id": "hostile",
    "title": f"A title {HOSTILE}",
    "text": HOSTILE,
    "paper": "Section 3.1",
    "measured_how": "by eye",
    "threshold": "none",
    "value": 0.25,
    "interval": [0.2, 0.3],
    "inputs": 1200,
    "verdict": "fails",
    "why": HOSTILE,
    "seeds": [0.25, 0.5],
    "paper_value": "about 1",
}
CLAIMS = [CLAIM, CLAIM | {"id": "second", "title": "Another", "verdict": "holds", "interval": None}]

Open = Callable[..., Page]


@pytest.fixture(scope="session")
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


def histories(directory: Path) -> None:
    """What the shipped models left of their training, examples of what they do, and two claims."""
    for task in SHIPPED:
        for table in ("metrics.csv", "scores.csv"):
            (directory / task).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SHIPPED_AT / task / table, directory / task / table)
        model = load(task)
        assert model.task
        measure_examples(model, model.task, directory / task, per_hop=1)
    (directory / "claims.json").write_text(json.dumps({"claims": CLAIMS}))


def analyses(directory: Path) -> None:
    """Small analyses of the shipped number model."""
    from whatwhere.studies.geometry.measure import measure_geometry
    from whatwhere.studies.length.measure import LengthPlan, measure_length
    from whatwhere.studies.mechanism.ablation import ablate
    from whatwhere.studies.results import Results

    model, run = load("number"), directory / "number"
    assert model.task
    measure_geometry(model, model.task, run, inputs=8)
    measure_length(model, model.task, run, LengthPlan(16, lengths=(33,), varied_lengths=(33,)))
    Results(run / "mechanism").write("ablation", ablate(model, model.task.sample(16)))


def _built(factory: pytest.TempPathFactory, name: str, *makers: Callable[[Path], None]) -> Path:
    """The page of a directory that the first worker to come makes for all of this run."""
    base = factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with FileLock(root / f"{name}.lock"):
        directory = root / name
        if not (directory / "report.html").is_file():
            for make in makers:
                make(directory)
            write_page(directory)
    return directory / "report.html"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of both shipped models' histories."""
    return _built(tmp_path_factory, "page-small", histories)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with analyses of the number model."""
    return _built(tmp_path_factory, "page-full", histories, analyses)
