"""What a person reads and sees."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib import pyplot

from whatwhere.studies.cache.summary import outcomes
from whatwhere.studies.results import Results


def test_the_summary_says_what_it_costs_and_which_ranking_is_better(made_up: Callable[..., Results]):
    shown = made_up({"random": -0.1, "far": 0.005, "paper": 0.1}).summary
    assert "4 KV heads of made-up (Llama) on a.txt: 4 windows of 512 tokens" in shown
    assert "loss with the full cache: 3.000 (2.900-3.100)" in shown
    assert "positional at 0.5: better than random; not told apart from far; worse than paper" in shown
    assert "cannot do it" not in shown and "pass keys" in shown


def test_the_summary_says_that_a_model_cannot_find_keys(made_up: Callable[..., Results]):
    shown = " ".join(made_up({"random": -0.1}, passkey=0.25).summary.split())
    assert "pass keys found with the full cache: .25" in shown
    assert "The model cannot do it, so pass keys say nothing about its cache." in shown


def test_a_sweep_shows_the_loss_of_the_policy(made_up: Callable[..., Results]):
    assert outcomes(made_up({"random": -0.1})) == {"above_25": 0.025, "above_50": 0.05, "above_75": 0.075}


def test_figures_show_every_ranking_and_every_kv_head(made_up: Callable[..., Results]):
    figures = made_up({"random": -0.1, "far": 0.0}).figures()
    left, right = figures["cache-loss"].axes
    legend, picture = left.get_legend(), figures["cache-map"].axes[0].images[0].get_array()
    assert legend is not None and picture is not None
    assert [text.get_text() for text in legend.get_texts()] == ["positional", "random", "far"]
    assert [label.get_text() for label in right.get_xticklabels()] == ["25 %", "50 %", "75 %"]
    maps = figures["cache-map"].axes
    assert [axes.get_title(loc="left") or axes.get_title() for axes in maps] == ["positional", "far"]
    assert picture.tolist() == [[0, 1], [2, 3]]
    pyplot.close("all")
