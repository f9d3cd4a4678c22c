from __future__ import annotations

from math import nan
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from whatwhere.heads.estimate import share
from whatwhere.studies.chat import CHAT
from whatwhere.studies.chat.figures import draw_accuracy
from whatwhere.studies.chat.tables import Cell, ChatSettings, Profile
from whatwhere.studies.chat.tabulation import quoted
from whatwhere.studies.measuring import draw
from whatwhere.studies.results import Results
from whatwhere.studies.style import style

NAME = "openai-api/x/a$b-with-a-long-name"


def made(measured: bool = True) -> Results:
    """One whole and one partial result, of one hop and of several, and the paper's."""
    results = Results(CHAT, ChatSettings(), "m")
    results.write("quoted", quoted())
    cells = [
        Cell(NAME, task, size, 1, 40, share(n // 2, n), nan, 0.5, 0.1, 0.0, 3.0, 0.1, window)
        for task, size, n, window in (
            ("one_hop_letter", 16, 40, 0.06), ("one_hop_letter", 32, 10, 0.03), ("multi_hop_letter", 16, 40, nan),
        )
    ]  # fmt: skip
    results.write("cells", cells if measured else [])
    if measured:
        rows = [Profile(NAME, "one_hop_letter", 16, near, near + 7, share(n, n)) for near, n in ((1, 20), (9, 0))]
        results.write("profile", rows)
    return results


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left").split("\n")[0] for axes in figure.axes if axes.get_visible()]


@pytest.mark.slow
def test_every_figure_is_drawn_with_its_data(tmp_path: Path) -> None:
    written = draw({"m": made()}, tmp_path)
    assert {path.stem for path in written if path.suffix == ".png"} == {"figure-5cd-chat", "chat-profile", "table-chat"}
    assert all(path.stat().st_size > 5000 for path in written if path.suffix != ".csv")
    assert (tmp_path / "figure-5cd-chat-quoted.csv").read_text().count("\n") == 61


@pytest.mark.slow
def test_the_paper_alone_has_its_two_panels_and_no_profile(tmp_path: Path) -> None:
    stems = {path.stem for path in draw({"paper": made(measured=False)}, tmp_path) if path.suffix == ".png"}
    assert stems == {"figure-5cd-chat", "table-chat"}
    with style():
        figure = draw_accuracy({"paper": made(measured=False)})
    assert [title[0] for title in titles(figure)] == ["C", "D"]
    (curve, *_) = figure.axes[1].containers
    assert list(curve[0].get_ydata()) == [  # pyright: ignore[reportIndexIssue, reportGeneralTypeIssues]
        row.mean for row in quoted() if (row.model, row.task) == ("Claude Sonnet 3.7", "one_hop_number")
    ]


def test_each_measured_model_has_a_panel_and_partial_results_are_marked() -> None:
    with style():
        figure = draw_accuracy({"m": made()})
    assert len(titles(figure)) == 3
    assert "partial result" in figure.axes[2].get_legend_handles_labels()[1]
