"""Measures the rotations of one or two models and compares them with what they should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.studies.results import Results
from whatwhere.studies.rope.expected_rope import CONVENTIONS
from whatwhere.studies.rope.measured_rope import MeasuredModel, Order, fitted_base, measured, orders
from whatwhere.studies.rope.rope_differences import differences
from whatwhere.studies.rope.tables import CONFIGURATION, About, LayerRope, PlaneRope, RopeSettings
from whatwhere.studies.study import Progress
from whatwhere.studies.terminal import number_runs
from whatwhere.trace.traceable import Traceable


def measure(model: Traceable, settings: RopeSettings, results: Results, progress: Progress) -> None:
    """One pass for each model, which are those of transformers, and one more each to compare two."""
    total = 1 if settings.opened is None else 4
    progress("measuring the rotation", 0, total)
    one = measured(results.name, model, settings.tokens, settings.seed)
    models, order, found = [one], None, differences(one, one.expected, CONFIGURATION)
    if settings.opened is not None:
        progress("measuring the other model", 1, total)
        # Some rules depend on the length, so both models are measured at the same.
        other = measured(settings.opened.name, settings.opened.item, one.seq, settings.seed)
        _check_comparable(one, other)
        if other.name == one.name:
            other = replace(other, name=f"{other.name} (other)")
        progress("comparing the order of coordinates", 2, total)
        order = orders(one, other, settings.seed)
        models.append(other)
        found += differences(other, other.expected, CONFIGURATION)
        wider = replace(one, allowed=[max(pair) for pair in zip(one.allowed, other.allowed, strict=True)])
        found += differences(wider, other.found, other.name, order)
    results.write("about", [_about(each) for each in models])
    results.write("layers", [row for each in models for row in _layers(each, order if each is one else None)])
    results.write("planes", [row for each in models for row in _planes(each)])
    results.write("differences", sorted(found, key=lambda row: (row.model, row.against, row.what, row.layer)))
    progress("rotation measured", total, total)


def _check_comparable(one: MeasuredModel, other: MeasuredModel) -> None:
    layers = [[facts.layer for facts in each.found] for each in (one, other)]
    if layers[0] != layers[1]:
        runs = [number_runs(each, ",") for each in layers]
        raise WhatwhereError(
            f"expected two checkpoints of one model, got {one.name}, where layers {runs[0]} attend, and {other.name}, "
            f"where layers {runs[1]} do; check each by itself."
        )


def _about(each: MeasuredModel) -> About:
    judged = each.model.config.model_type in CONVENTIONS
    return About(each.name, each.model.family, each.seq, each.angle_error, each.error, judged)


def _layers(each: MeasuredModel, order: Sequence[Order] | None) -> list[LayerRope]:
    rows = []
    for at, facts in enumerate(each.found):
        assert facts.frequencies is not None and facts.pairing is not None and facts.scale is not None, "measured"
        rows.append(
            LayerRope(
                each.name, facts.layer, facts.kind, facts.width, len(facts.frequencies), each.firsts[at], facts.pairing,
                fitted_base(facts.frequencies), facts.factor, facts.scale,
                keys_similarity=math.nan if order is None else order[at].similarity,
            )
        )  # fmt: skip
    return rows


def _planes(each: MeasuredModel) -> list[PlaneRope]:
    rows = []
    for found, wanted in zip(each.found, each.expected, strict=True):
        assert found.frequencies is not None, "measured"
        told = wanted.frequencies
        if told is None or told.shape != found.frequencies.shape:
            told = np.full(found.frequencies.shape, math.nan)
        numbers = zip(found.frequencies.tolist(), told.tolist(), strict=True)
        rows += [PlaneRope(each.name, found.layer, plane, *pair) for plane, pair in enumerate(numbers, 1)]
    return rows
