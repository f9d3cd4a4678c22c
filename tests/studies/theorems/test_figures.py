from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.theorems.figures import draw_geometry, draw_margins, draw_theory
from whatwhere.theory.curves import MARGINS, write_discrepancy, write_geometry, write_margins


@pytest.mark.slow
def test_every_figure_is_drawn_from_its_data(tmp_path: Path) -> None:
    for write in (write_discrepancy, write_geometry, write_margins):
        write(tmp_path)
    files = draw_theory(tmp_path)
    for file in files:
        assert file.read_bytes().startswith(b"%PDF" if file.suffix == ".pdf" else b"\x89PNG")
    assert {file.stem for file in files} == {path.stem for path in tmp_path.glob("*.csv")}
    assert len(files) == 6


@pytest.mark.slow
def test_the_same_numbers_draw_the_same_bytes(tmp_path: Path) -> None:
    write_geometry(tmp_path)
    first = [file.read_bytes() for file in draw_geometry(tmp_path)]
    assert [file.read_bytes() for file in draw_geometry(tmp_path)] == first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        ("theta,n\n", "it lacks index_smallest"),
        ("theta,n,index_smallest,retrieval_smallest\n", "has no rows"),
        ("theta,n,index_smallest,retrieval_smallest\n1,3,much,0\n", "is damaged.*whatwhere theory --out"),
    ],
)
def test_data_that_cannot_be_drawn_is_explained(content: str | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / MARGINS).write_text(content)
    with pytest.raises(WhatwhereError, match=message):
        draw_margins(tmp_path)
