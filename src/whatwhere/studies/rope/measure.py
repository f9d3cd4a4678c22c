"""Measures the rotations of one or two models on their vectors, and compares them with the expected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import interleaved_to_half
from whatwhere.studies.results import Results
from whatwhere.studies.rope.expected_rope import (
    CONVENTIONS,
    Frequencies,
    MeasuredRope,
    RopeFacts,
    expected_layer,
    kind_of,
)
from whatwhere.studies.rope.rope_differences import Order, differences
from whatwhere.studies.rope.tables import CONFIGURATION, About, Difference, LayerRope, PlaneRope, RopeSettings
from whatwhere.studies.study import Progress
from whatwhere.studies.terminal import number_runs
from whatwhere.trace.interventions import ScaleAngles
from whatwhere.trace.rotary import RotaryModel
from whatwhere.trace.traceable import Traceable

TOKENS = 256
CONTENT_TOKENS = 32
"""Tokens on which keys of two models are compared."""
CLEAR = 0.05
"""By how much another order of coordinates must fit better, as a cosine, to be called the right one."""


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """The rotations of one model, and what its configuration asks for."""

    name: str
    model: RotaryModel
    seq: int
    found: list[MeasuredRope]
    expected: list[RopeFacts]
    angle_error: float
    error: float


def measure(model: Traceable, settings: RopeSettings, results: Results, progress: Progress) -> None:
    """One pass for each model, which are those of transformers, and one more each to compare two."""
    total = 1 if settings.opened is None else 4
    progress("measuring the rotation", 0, total)
    one = measured(results.name, model, settings.tokens, settings.seed)
    models, order, found = [one], None, _against_configuration(one)
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
        found += _against_configuration(other)
        pairs = zip(one.found, other.found, strict=True)
        wider = [replace(ours, allowed=max(ours.allowed, theirs.allowed)) for ours, theirs in pairs]
        found += differences((one.name, other.name), wider, other.found, one.seq, order)
    results.write("about", [_about(each) for each in models])
    results.write("layers", [row for each in models for row in _layers(each, order if each is one else None)])
    results.write("planes", [row for each in models for row in _planes(each)])
    results.write("differences", sorted(found, key=lambda row: (row.model, row.against, row.what, row.layer)))
    progress("rotation measured", total, total)


def _against_configuration(each: MeasuredModel) -> list[Difference]:
    return differences((each.name, CONFIGURATION), each.found, each.expected, each.seq)


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
    return [
        LayerRope(
            each.name, facts.layer, facts.kind, facts.width, len(facts.frequencies), facts.first, facts.pairing,
            fitted_base(facts.frequencies), facts.factor, facts.scale,
            keys_similarity=math.nan if order is None else order[at].similarity,
        )
        for at, facts in enumerate(each.found)
    ]  # fmt: skip


def _planes(each: MeasuredModel) -> list[PlaneRope]:
    rows = []
    for found, wanted in zip(each.found, each.expected, strict=True):
        expected = wanted.frequencies
        if expected is None or expected.shape != found.frequencies.shape:
            expected = np.full(found.frequencies.shape, math.nan)
        numbers = zip(found.frequencies.tolist(), expected.tolist(), strict=True)
        rows += [PlaneRope(each.name, found.layer, plane, *pair) for plane, pair in enumerate(numbers, 1)]
    return rows


def measured(name: str, model: Traceable, tokens: int | None, seed: int) -> MeasuredModel:
    """Runs a model once on random tokens.

    Raises:
        WhatwhereError: it is none of transformers, or its attention cannot be read.
    """
    if not isinstance(model, RotaryModel):
        raise WhatwhereError(
            f"expected a model directory, a hub name or a GGUF file, got {name}, a model of whatwhere: its rotation is "
            "the formula itself."
        )
    longest = int(getattr(model.config, "max_position_embeddings", None) or TOKENS)
    seq = min(TOKENS, longest) if tokens is None else tokens
    ids = random_tokens(int(model.config.vocab_size), seq, seed)
    layers = model.stream(ids, lambda layer: layer.of_queries(slice(0, 0)))
    tables = [table.detach().to("cpu", torch.float64) for table in model.tables()]
    readings = list(model.measurements.values())
    expected = [expected_layer(model.config, layer, seq) for layer in model.attending]
    found = []
    for layer, reading, wanted in zip(layers, readings, expected, strict=True):
        frequencies = layer.rotation.frequencies.cpu()
        exact = any(torch.equal(frequencies, table) for table in tables)
        found.append(
            MeasuredRope(
                layer.layer, kind_of(model.config, layer.layer), layer.keys.shape[-1], frequencies.double().numpy(),
                reading.layout, reading.factor, layer.scale, wanted.rope, reading.first,
                allowed=0.0 if exact else reading.angle_error / (seq - 1),
            )
        )  # fmt: skip
    angle_error, error = max(each.angle_error for each in readings), max(each.error for each in readings)
    return MeasuredModel(name, model, seq, found, expected, angle_error, error)


def random_tokens(vocabulary: int, seq: int, seed: int) -> Int[Tensor, "one seq"]:
    """One random input; a rotation does not depend on the tokens."""
    return torch.randint(vocabulary, (1, seq), generator=torch.Generator().manual_seed(seed))


def fitted_base(frequencies: Frequencies) -> float:
    """The base of which the frequencies are powers; NaN if they are not."""
    planes = len(frequencies)
    if planes < 2 or not (frequencies > 0).all() or not np.isclose(frequencies[0], 1, rtol=1e-3):
        return float("nan")
    rate = -np.log(frequencies[1:]) / np.arange(1, planes)
    return float(np.exp(rate[0] * planes)) if np.ptp(rate) < 1e-3 * rate[0] else float("nan")


def orders(one: MeasuredModel, other: MeasuredModel, seed: int) -> list[Order]:
    """Compares the keys of two models, layer by layer, with all rotations stopped.

    Without rotation the order of coordinates changes no product, so both models compute the same in all layers, and
    each layer can be compared even if earlier ones have another order.
    """
    vocabulary = min(int(each.model.config.vocab_size) for each in (one, other))
    ids = random_tokens(vocabulary, min(CONTENT_TOKENS, one.seq, other.seq), seed)

    def keys(each: MeasuredModel) -> list[Float[Tensor, "head key d_head"]]:
        return each.model.stream(ids, lambda layer: layer.keys[0].float(), interventions=[ScaleAngles(0.0)])

    pairs = zip(keys(one), keys(other), one.found, strict=True)
    return [_order(ours, theirs, 2 * len(facts.frequencies)) for ours, theirs, facts in pairs]


def _order(ours: Tensor, theirs: Tensor, rotary: int) -> Order:
    if ours.shape != theirs.shape:
        return Order(float("nan"), None)
    to_half = interleaved_to_half(ours.shape[-1], rotary)

    def similarity(order: Tensor | slice) -> float:
        return float(torch.cosine_similarity(ours[..., order].flatten(), theirs.flatten(), 0))

    same, as_half, as_interleaved = similarity(slice(None)), similarity(to_half), similarity(to_half.argsort())
    best = max(as_half, as_interleaved)
    return Order(same, None if best < same + CLEAR else as_half > as_interleaved)
