"""The files as others read them give our policy."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from whatwhere.studies.cache.cache_needs import CONFIG, PATTERN, SCORES, pattern_files
from whatwhere.studies.cache.streamed_runs import streamed_sets
from whatwhere.studies.cache.tables import CacheSettings, Need


def needs(count: int, columns: int = 2) -> list[Need]:
    order = np.random.default_rng(0).permutation(count).tolist()
    return [Need("far", 0, at // columns, at % columns, 0.1 * place, place) for at, place in enumerate(order)]


def table_of(files: dict[str, bytes]) -> np.ndarray:
    return np.clip(np.loadtxt(io.StringIO(files[PATTERN].decode()), dtype=float, delimiter="\t", ndmin=2), 0, 1)


@pytest.mark.parametrize("ratio", [0.25, 0.5, 0.75])
def test_the_press_of_kvpress_streams_the_heads_of_our_policy(small: CacheSettings, ratio: float):
    settings = replace(small, rankings=("far",), budgets=(ratio,))
    rows = needs(90, 3)
    scores = table_of(pattern_files(rows, 3, settings, "m"))
    chosen = np.argsort(scores, axis=None)[: round(scores.size * ratio)]  # as its DuoAttentionPress does
    theirs = {(int(layer), int(own)) for layer, own in zip(*np.unravel_index(chosen, scores.shape), strict=True)}
    (_, ours) = streamed_sets(rows, settings)
    assert theirs == ours.streamed


@pytest.mark.parametrize("sparsity", [0.25, 0.5, 0.75])
def test_duo_attention_streams_them_too_up_to_one_by_rounding(small: CacheSettings, sparsity: float):
    settings = replace(small, rankings=("far",), budgets=(sparsity,))
    rows = needs(90, 3)
    scores = table_of(pattern_files(rows, 3, settings, "m"))
    streamed = scores < np.quantile(scores, sparsity)  # as its sparsify_attention_heads does, but for the noise
    (_, ours) = streamed_sets(rows, settings)
    theirs = {(int(layer), int(own)) for layer, own in np.argwhere(streamed)}
    assert len(ours.streamed ^ theirs) <= 1


def test_the_configuration_and_the_scores_have_the_fields_that_are_read(small: CacheSettings):
    settings = replace(small, rankings=("far", "random"))
    rows = [*needs(4), Need("random", 0, 0, 0, 0.0, 0)]
    rows[1] = replace(rows[1], need=math.nan)
    files = pattern_files(rows, 3, settings, "tiny")
    config = json.loads(files[CONFIG])
    assert (config["sink_size"], config["recent_size"], config["model_name"]) == (1, 4, "tiny")
    scores = json.loads(io.StringIO(files[SCORES].decode()).readline())  # retrieval heads are read from one line
    assert list(scores) == [f"{layer}-{head}" for layer, head in [(0, 0), (0, 1), (0, 2), *((1, h) for h in range(6))]]
    assert scores["0-2"] == [rows[0].need] and scores["1-5"] == [rows[3].need]


def test_layers_that_do_not_attend_keep_a_row(small: CacheSettings):
    rows = [Need("far", 0, layer, 0, 0.0, place) for place, layer in enumerate((1, 3))]
    assert table_of(pattern_files(rows, 1, replace(small, rankings=("far",)), "m")).tolist() == [[1], [0], [1], [1]]
