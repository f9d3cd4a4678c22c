from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whatwhere.studies.measuring import draw, study
from whatwhere.studies.results import Results
from whatwhere.studies.style import style


@pytest.mark.slow
def test_every_figure_is_drawn_with_its_axes_named(whole: Results) -> None:
    with style():
        figures = whole.figures()
    assert set(figures) == {"figure-5a-discrepancy", "figure-5a-layers", "figure-4a-geometry", "margin-map"}
    for figure in figures.values():
        assert all(axes.get_xlabel() or axes.get_ylabel() for axes in figure.axes)
    curves = figures["figure-5a-discrepancy"].axes[0].get_lines()[:7]
    assert {float(np.max(line.get_xdata())) for line in curves} == {100}
    names = {text.get_text() for text in figures["figure-5a-layers"].axes[0].texts}
    assert {"layer 2 (ID 42)", "5, 7, 10\nID 38"} <= names


def test_one_angle_draws_nothing(tmp_path: Path) -> None:
    results = study("theorems", theta=1.0)
    assert draw({results.name: results}, tmp_path) == []
