from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.heads.display import CELLS, POSITIONAL, colour_of, draw_cells
from whatwhere.heads.head_scores import HeadScores
from whatwhere.heads.scores import score
from whatwhere.heads.summary import estimates
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


def test_a_small_table_is_printed_just_so(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(batch=4, heads=2, seq=6),)), 0.1)
    assert repr(scores).splitlines() == [
        "HeadScores: 1 layers x 2 heads, 4 inputs, 1 query each, tau 0.1, swaps of keys",
        "layer head  positional        symbolic          entropy  label",
        "    0    0  0.19 (0.00-0.38)  0.81 (0.63-1.00)     0.00  mixed",
        "    0    1  0.50 (0.28-0.83)  0.56 (0.19-0.76)     0.23  mixed",
    ]


def test_the_heading_counts_heads_queries_and_says_how_swaps_were_weighed(make_layer: MakeLayer) -> None:
    layer = make_layer(heads=1, queries=(4, -1))
    heading = repr(score(Trace((layer,)), renormalised=True)).splitlines()[0]
    assert heading == (
        "HeadScores: 1 layers x 1 head, 2 inputs, 2 queries each, tau 0.0001, swaps of keys, renormalised"
    )


def test_the_frame_has_the_scores_of_each_head_with_their_intervals(make_layer: MakeLayer) -> None:
    scores = score(Trace((make_layer(batch=5, heads=3, queries=range(9)),)), 0.1)
    frame = scores.to_frame()
    assert frame.equals(scores.to_frame(gamma=0.1, seed=0)) and not frame.equals(scores.to_frame(seed=1))
    for name in ("positional", "symbolic", "entropy", "entropy_share", "own", "undefined", "flat"):
        assert frame[name].tolist() == pytest.approx(getattr(scores, name)[0].tolist()), name
    for column, kind in enumerate(("positional", "symbolic")):
        (found,) = estimates(scores)[column]
        ends = [(one.value, one.low, one.high, one.n) for one in found]
        assert (
            list(frame[[kind, f"{kind}_low", f"{kind}_high", f"{kind}_n"]].itertuples(index=False, name=None)) == ends
        )
    assert frame["positional_centred"].tolist() == pytest.approx(scores.centred_positional[0].tolist())
    assert frame["symbolic_centred"].tolist() == pytest.approx(scores.centred_symbolic[0].tolist())
    assert frame["head"].tolist() == [0, 1, 2]


def test_of_many_heads_the_purest_are_printed_in_the_order_of_the_layers(many: HeadScores) -> None:
    difference = (many.positional - many.symbolic).abs()  # [layer, head]
    best = {divmod(int(at), 20) for at in difference.flatten().argsort(descending=True)[:16]}
    lines = repr(many).splitlines()
    assert [tuple(map(int, line.split()[:2])) for line in lines[2:-1]] == [
        (5 * layer, head) for layer, head in sorted(best)
    ]
    labels = many.to_frame()["label"].value_counts()
    told = ", ".join(f"{count} {label}" for label, count in labels.items())
    assert lines[-1] == f"the 16 purest of 40 heads; {told}; .to_frame() has all"


def test_heads_without_a_score_are_printed_last(make_layer: MakeLayer) -> None:
    layer = make_layer(heads=20, seq=9)
    without = replace(make_layer(heads=20, seq=9), visible=torch.zeros(1, 9, dtype=torch.bool))
    shown = repr(score(Trace((without, replace(layer, layer=1))))).splitlines()[2:-1]
    assert len(shown) == 16 and {line.split()[0] for line in shown} == {"1"}


def test_sixteen_heads_are_all_printed_and_seventeen_are_not(make_layer: MakeLayer) -> None:
    for heads, lines in ((16, 18), (17, 19)):
        text = repr(score(Trace((make_layer(heads=heads, seq=4),))))
        assert len(text.splitlines()) == lines and ("purest" in text) == (heads == 17)


@pytest.mark.parametrize(("heads", "side"), [(24, 21), (25, 11)])
def test_the_cells_of_the_notebook_are_smaller_where_there_are_many(
    make_layer: MakeLayer, heads: int, side: int
) -> None:
    html = score(Trace((make_layer(heads=heads, seq=4),)))._repr_html_()
    picture = ET.fromstring(html[html.index("<svg") :])
    cells = [element.attrib for element in picture.iter() if element.tag.endswith("rect")]
    assert {(cell["width"], cell["height"]) for cell in cells} == {(str(side), str(side))}
    assert [int(cell["x"]) for cell in cells] == [40 + head * (side + 1) for head in range(heads)]
    assert (picture.attrib["width"], picture.attrib["height"]) == (
        str(max(360, 50 + heads * (side + 1))),
        str(25 + side),
    )


def test_the_notebook_numbers_its_lines_by_layer(many: HeadScores) -> None:
    html = many._repr_html_()
    picture = ET.fromstring(html[html.index("<svg") :])
    texts = [(element.attrib["y"], element.text) for element in picture.iter() if element.tag.endswith("text")]
    assert texts == [("33", "0"), ("55", "5"), ("12", "layer by head: red positional, green symbolic, grey uniform")]


@pytest.mark.parametrize(
    ("centred", "colour"),
    [
        ((1, 0), (213, 94, 0)), ((0, 1), (0, 158, 115)), ((0, 0), (217, 217, 217)), ((0.5, 0.25), (161, 141, 83)),
        ((2, 0), (209, 0, 0)), ((-1, 0), (221, 255, 255)), ((math.nan, math.nan), (255, 255, 255)),
    ],
)  # fmt: skip
def test_the_colour_of_a_head_is_mixed_by_its_centred_scores(
    centred: tuple[float, float], colour: tuple[int, int, int]
) -> None:
    assert colour_of(*centred) == colour


def test_cells_have_white_lines_between_them_and_ticks_at_their_middles() -> None:
    ax = plt.subplots()[1]
    picture = np.arange(3 * 17 * 3, dtype=np.uint8).reshape(3, 17, 3)
    draw_cells(ax, picture, (2, 4, 9))
    assert (ax.images[0].get_array() == picture).all()
    assert ax.get_yticks(minor=True).tolist() == [0.5, 1.5]
    assert ax.get_xticks(minor=True).tolist() == [0.5 + at for at in range(16)]
    assert ax.get_xticks().tolist() == list(range(0, 17, 2))
    assert ax.get_yticks().tolist() == [0, 1, 2]
    assert not ax.get_axisbelow()
    for axis in (ax.xaxis, ax.yaxis):
        lines = [tick.gridline for tick in axis.get_minor_ticks()]
        assert {(line.get_visible(), line.get_color(), line.get_linewidth()) for line in lines} == {
            (True, "white", 0.8)
        }
        assert {tick.gridline.get_visible() for tick in axis.get_major_ticks()} == {False}
        assert {tick.tick1line.get_markersize() for tick in axis.get_minor_ticks()} == {0}
    plt.close("all")


@pytest.mark.parametrize(("layers", "every"), [(24, 1), (25, 2), (48, 2), (49, 3)])
def test_up_to_24_lines_each_have_a_tick(layers: int, every: int) -> None:
    ax = plt.subplots()[1]
    draw_cells(ax, np.zeros((layers, 2, 3), np.uint8), range(layers))
    assert ax.get_yticks().tolist() == list(range(0, layers, every))
    plt.close("all")
