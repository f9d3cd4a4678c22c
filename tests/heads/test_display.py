from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import matplotlib.pyplot as plt
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads.display import CELLS, POSITIONAL
from whatwhere.heads.head_scores import HeadScores
from whatwhere.heads.scores import score
from whatwhere.tasks import NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.trace.layer import LayerTrace, Trace

MakeLayer = Callable[..., LayerTrace]


@pytest.fixture
def many(make_layer: MakeLayer) -> HeadScores:
    layer = make_layer(batch=3, heads=20)
    return score(Trace((layer, replace(layer, layer=5))))


def test_the_frame_has_one_tidy_row_per_head(many: HeadScores) -> None:
    frame = many.to_frame()
    assert len(frame) == 40
    assert sorted(set(frame["layer"])) == [0, 5]
    assert frame["symbolic"].tolist() == pytest.approx(many.symbolic.flatten().tolist())
    assert frame["symbolic"].between(frame["symbolic_low"], frame["symbolic_high"]).all()
    assert frame["symbolic_n"].tolist() == [3] * 40
    total = frame["positional_centred"] + frame["symbolic_centred"] + frame["flat"]
    assert total.tolist() == pytest.approx([1.0] * 40)


def test_labels_follow_the_tolerance() -> None:
    scores = score(index_head(1.0, 18.1).trace(NumberTask().sample(8, seed=0).tokens))
    assert scores.to_frame()["label"].tolist() == ["positional"]
    with pytest.raises(WhatwhereError, match=r"expected a gamma between 0 and 0\.5, got 0\.7"):
        scores.to_frame(gamma=0.7)


def test_the_text_is_at_most_a_screen_and_says_what_was_measured(many: HeadScores) -> None:
    lines = repr(many).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
    assert lines[0] == "HeadScores: 2 layers x 20 heads, 3 inputs, 1 query each, tau 0.0001, swaps of keys"
    assert lines[-1].startswith("the 16 purest of 40 heads; ")


def test_few_heads_are_all_printed(make_layer: MakeLayer) -> None:
    lines = repr(score(Trace((make_layer(queries=range(9)),)), 0.1, reading="all")).splitlines()
    assert len(lines) == 4
    assert "reading all" in lines[0]


def test_the_notebook_shows_every_head_in_one_picture_without_scripts(many: HeadScores) -> None:
    html = many._repr_html_()
    assert "<script" not in html
    picture = ET.fromstring(html[html.index("<svg") :])
    cells = [element for element in picture.iter() if element.tag.endswith("rect")]
    assert len(cells) == 40
    assert "layer 5 head 19: positional" in html


def test_a_positional_head_is_red_in_the_notebook() -> None:
    html = score(index_head(1.0, 18.1).trace(NumberTask().sample(8, seed=0).tokens))._repr_html_()
    assert f"rgb{tuple(bytes.fromhex(POSITIONAL[1:]))}" in html
    assert "red positional, green symbolic" in html


@pytest.mark.slow
def test_the_notebook_of_very_many_heads_shows_the_text(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(batch=1, heads=CELLS + 1, seq=4, width=2),)))
    html = scores._repr_html_()
    assert "<svg" not in html
    assert len(html) < 4000


def test_undefined_scores_are_drawn_white(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(seq=2),)))
    assert "rgb(255, 255, 255)" in scores._repr_html_()
    assert set(scores.to_frame()["label"]) == {"undefined"}


def test_the_ticks_of_a_plot_are_heads_and_layers(make_layer: MakeLayer) -> None:
    ax = score(Trace((make_layer(heads=1),))).plot()
    assert ax.get_xticks().tolist() == [0]
    trace = Trace(tuple(replace(make_layer(heads=3), layer=layer) for layer in range(30)))
    layers = score(trace).plot().get_yticklabels()
    assert [label.get_text() for label in layers][:3] == ["0", "2", "4"]  # each would overlap the next
    plt.close("all")


def test_plots_take_and_return_axes(many: HeadScores) -> None:
    figure, ax = plt.subplots()
    assert many.plot(ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "5"]
    assert many.plot().get_xlabel() == "head"
    plt.close("all")
    assert figure is ax.figure


def test_the_largest_map_that_is_drawn_has_just_so_many_cells(
    many: HeadScores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whatwhere.heads.display.CELLS", 40)
    assert "<svg" in many._repr_html_()
    monkeypatch.setattr("whatwhere.heads.display.CELLS", 39)
    assert "<svg" not in many._repr_html_()
