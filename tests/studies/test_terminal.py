"""Summaries in a terminal of 80 columns, on the results that ship."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from whatwhere.studies import study_named
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import LONGEST_NAME, short_names, table
from whatwhere.zoo.load import SHIPPED_AT

DIRECTORIES = sorted(manifest.parent for manifest in (SHIPPED_AT / "seeds").glob("*/*/*/manifest.json"))


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_number_of_a_summary_is_cut_off_at_80_columns(directory: Path):
    text = Results.open(study_named(directory.name), directory).printed(80)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_title_wider_than_its_table_stays_on_one_line():
    console = Console(file=io.StringIO(), width=80)
    console.print(table("a", "b", rows=[("1", "2")], title="A title that is wider than the two columns"))
    assert console.file.getvalue().splitlines()[0].rstrip() == "A title that is wider than the two columns"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_notebook_shows_the_summary_as_text():
    shown = Results.open(study_named("heads"), DIRECTORIES[0].parent / "heads", "<b>mine</b>")._repr_html_()
    assert shown.startswith("<pre>12 heads of ") and "<b>" not in shown
    assert "DataFrames: [&#x27;about&#x27;], [&#x27;heads&#x27;]" in shown


@pytest.mark.parametrize(
    ("models", "short"),
    [
        (["runs/a/number", "runs/a/seeds/14/number"], ["number", "seeds/14/number"]),
        (["number", "letter"], ["number", "letter"]),
        (["/runs/number"], ["number"]),
        (["/a", "/a/b"], ["a", "a/b"]),
        (["letter", f"/{'deep/' * 9}letter"], ["letter", "...deep/deep/deep/letter"]),
        ([], []),
    ],
)
def test_names_of_models_leave_out_what_all_have_in_common(models: list[str], short: list[str]):
    assert list(short_names(models).values()) == short
    assert all(len(name) <= LONGEST_NAME for name in short)
