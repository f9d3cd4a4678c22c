from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import mean
from whatwhere.heads.levels import score_model, score_model_weightings
from whatwhere.heads.scores import score
from whatwhere.heads.summary import HeadSummary, estimates, score_windows, summary_rows
from whatwhere.heads.weighting import TAU, Weighting, band
from whatwhere.tasks import NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.trace.layer import LayerTrace, Tokens, Trace
from whatwhere.training.run import Run


def summarise(model: object, tokens: Tokens, tau: float = TAU, gamma: float = 0.1) -> list[HeadSummary]:
    weightings = [Weighting(tau), Weighting(tau, renormalised=True)]
    return summary_rows(*score_model_weightings(model, tokens, weightings), gamma=gamma)


def test_a_summary_holds_the_scores_with_intervals_around_them(run: Run) -> None:
    tokens = run.task.sample(40, seed=0).tokens
    model = run.load(10)
    rows = summarise(model, tokens, 0.1)
    scores = score_model(model, tokens, 0.1)
    assert [(row.layer, row.head) for row in rows] == [(0, 0), (1, 0)]
    for row in rows:
        assert row.positional.value == pytest.approx(float(scores.positional[row.layer, 0]))
        assert row.positional.low < row.positional.value < row.positional.high
        assert row.symbolic.low < row.symbolic.value < row.symbolic.high
        assert row.symbolic.n == 40
        assert row.entropy_share == pytest.approx(row.entropy / math.log(17))
        assert row.undefined == 0


@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_intervals_are_over_inputs_with_all_their_queries_or_over_the_queries_of_a_single_input(
    make_layer: Callable[..., LayerTrace], inputs: int
) -> None:
    scores = score(Trace((make_layer(batch=inputs, heads=2, seq=12, queries=range(1, 12)),)), 0.1)
    shape = inputs, 11
    clusters = np.arange(11) if inputs == 1 else np.arange(inputs)[:, None]
    for each, ((*heads,),) in zip((scores.each_positional, scores.each_symbolic), estimates(scores, 3), strict=True):
        for head, found in enumerate(heads):
            wanted = mean(each[0, :, head].flatten().numpy(), np.broadcast_to(clusters, shape).ravel(), seed=3)
            assert (found.value, *found.interval) == pytest.approx((wanted.value, *wanted.interval))
            assert found.n == wanted.n == inputs * 10  # the first query has a single key, and no score


def test_the_index_head_is_labelled_positional() -> None:
    (row,) = summarise(index_head(1.0, 18.1), NumberTask().sample(20, seed=0).tokens)
    assert row.label == "positional"


def test_a_band_is_scored_at_each_temperature(run: Run) -> None:
    found = score_model_weightings(run.load(10), run.task.sample(4, seed=0).tokens, band((1.0, 0.01)))
    assert [scores.tau for scores in found] == [1.0, 0.01]


def test_windows_are_scored_apart_with_the_attention_they_get(run: Run) -> None:
    tokens = run.task.sample(8, seed=0).tokens
    model = run.load(10)
    rows = score_windows(model, tokens, {"target": range(8), "rest": range(8, 17)}, 0.1)
    assert [(row.layer, row.window) for row in rows] == [(0, "target"), (0, "rest"), (1, "target"), (1, "rest")]
    assert rows[0].attention + rows[1].attention == pytest.approx(1, abs=1e-5)
    expected = score_model(model, tokens, 0.1, renormalised=True, among=range(8))
    assert rows[2].symbolic == pytest.approx(float(expected.symbolic[1, 0]))


def test_an_impossible_tolerance_is_refused(run: Run) -> None:
    with pytest.raises(WhatwhereError, match="expected a gamma between 0"):
        summarise(run.load(0), run.task.sample(4, seed=0).tokens, gamma=0.7)


def test_by_default_the_larger_tolerance_and_seed_0_count(run: Run) -> None:
    found = score_model_weightings(run.load(10), run.task.sample(20, seed=0).tokens, [Weighting(0.1)] * 2)
    rows = summary_rows(*found)
    assert rows == summary_rows(*found, gamma=0.1, seed=0)
    assert rows != summary_rows(*found, seed=1)
    assert estimates(found[0]) == estimates(found[0], 0) != estimates(found[0], 1)


def test_a_summary_has_the_facts_of_each_head_in_their_places(run: Run) -> None:
    plain, renormalised = score_model_weightings(
        run.load(10), run.task.sample(20, seed=0).tokens, [Weighting(0.1), Weighting(0.1, renormalised=True)]
    )
    for row in summary_rows(plain, renormalised):
        at = row.layer, row.head
        assert row.entropy == float(plain.entropy[at]) and row.own == float(plain.own[at])
        assert row.renormalised_positional == float(renormalised.positional[at])
        assert row.renormalised_symbolic == float(renormalised.symbolic[at])
        assert row.undefined == 0


def test_windows_are_scored_at_the_authors_temperature_unless_asked_otherwise(run: Run) -> None:
    tokens, model = run.task.sample(6, seed=0).tokens, run.load(10)
    windows = {"target": range(8), "rest": range(8, 17)}
    assert score_windows(model, tokens, windows) == score_windows(model, tokens, windows, 1e-4)
    expected = score_model(model, tokens, renormalised=True, among=range(8, 17))
    rows = [row for row in score_windows(model, tokens, windows) if row.window == "rest"]
    assert [row.positional for row in rows] == pytest.approx(expected.positional.flatten().tolist())
