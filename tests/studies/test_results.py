"""Tables that are whole and do not fit together: one message; a fault of ours keeps its traceback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_results import write_length

from whatwhere.errors import WhatwhereError
from whatwhere.store.manifest import Manifest
from whatwhere.studies import study_named
from whatwhere.studies.measuring import draw
from whatwhere.studies.results import Results, consistent_tables

LENGTH = study_named("length")


@pytest.fixture
def edited(tmp_path: Path) -> Results:
    """Results whose table of accuracies has no rows, with a manifest that vouches for it."""
    directory = write_length(tmp_path / "number", "number").directory
    header = (directory / "accuracy.csv").read_bytes().partition(b"\n")[0] + b"\n"
    Manifest(directory).put("accuracy.csv", header)
    return Results.open(LENGTH, directory)


def test_tables_that_do_not_fit_together_are_not_drawn_and_the_message_says_where_they_are(
    edited: Results, tmp_path: Path
) -> None:
    for draw_it in (edited.figures, lambda: draw({"it": edited}, tmp_path / "figures")):
        with pytest.raises(WhatwhereError, match=r"expected tables as .* measures them, got others in .*number/length"):
            draw_it()


def test_a_fault_with_tables_that_were_measured_just_now_keeps_its_traceback(tmp_path: Path) -> None:
    results = write_length(tmp_path, "number")
    with pytest.raises(ZeroDivisionError), consistent_tables([results]):
        raise ZeroDivisionError
    read = Results.open(LENGTH, results.directory)
    assert len(read["accuracy"])
    with (
        pytest.raises(WhatwhereError, match=r"ZeroDivisionError.*Measure again with --force"),
        consistent_tables([read]),
    ):
        raise ZeroDivisionError


@pytest.mark.parametrize("task", [3, {}, {"name": "number", "target": "far"}])
def test_results_of_a_task_that_is_none_are_refused(tmp_path: Path, task: object) -> None:
    results = write_length(tmp_path, "number")
    manifest = Manifest(results.directory)
    manifest.begin("length", manifest.record.settings, {"task": task}, existing="replace")
    manifest.put("breaks.csv", b"")
    with pytest.raises(WhatwhereError, match="expected"):
        Results.open(LENGTH, results.directory)


def test_a_generator_that_finds_no_row_is_told_as_tables_that_do_not_fit(tmp_path: Path) -> None:
    def rows() -> Iterator[int]:
        yield next(iter(()))

    read = Results.open(LENGTH, write_length(tmp_path, "number").directory)
    assert len(read["accuracy"])
    with (
        pytest.raises(WhatwhereError, match=r"expected tables as .* measures them, got others"),
        consistent_tables([read]),
    ):
        list(rows())
    with pytest.raises(RuntimeError, match=r"^another$"), consistent_tables([read]):
        raise RuntimeError("another")
