"""The rotation of each layer, measured on its vectors; and the order of a model's coordinates against another's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import interleaved_to_half
from whatwhere.studies.rope.expected_rope import RopeFacts, expected_layer, kind_of
from whatwhere.studies.rope.scaling_rules import Frequencies
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
    found: list[RopeFacts]
    expected: list[RopeFacts]
    firsts: list[int]
    """By layer, the first coordinate that turns."""
    allowed: list[float]
    """By layer, how far a frequency may be off; 0 where a table of the model fits, which has all digits."""
    angle_error: float
    error: float


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
    readings = list(model.readings.values())
    expected = [expected_layer(model.config, layer, seq) for layer in model.attending]
    found, allowed = [], []
    for layer, reading, wanted in zip(layers, readings, expected, strict=True):
        frequencies = layer.rotation.frequencies.cpu()
        exact = any(torch.equal(frequencies, table) for table in tables)
        allowed.append(0.0 if exact else reading.angle_error / (seq - 1))
        found.append(
            RopeFacts(
                layer.layer, kind_of(model.config, layer.layer), layer.keys.shape[-1], frequencies.double().numpy(),
                reading.layout, reading.factor, layer.scale, wanted.rope,
            )
        )  # fmt: skip
    return MeasuredModel(
        name=name,
        model=model,
        seq=seq,
        found=found,
        expected=expected,
        firsts=[reading.first for reading in readings],
        allowed=allowed,
        angle_error=max(reading.angle_error for reading in readings),
        error=max(reading.error for reading in readings),
    )


def random_tokens(vocabulary: int, seq: int, seed: int) -> Int[Tensor, "one seq"]:
    """One input; any will do, since a rotation does not depend on what is turned."""
    return torch.randint(vocabulary, (1, seq), generator=torch.Generator().manual_seed(seed))


def fitted_base(frequencies: Frequencies) -> float:
    """The base of which the frequencies are powers; NaN if they are not."""
    planes = len(frequencies)
    if planes < 2 or not (frequencies > 0).all() or not np.isclose(frequencies[0], 1, rtol=1e-3):
        return float("nan")
    rate = -np.log(frequencies[1:]) / np.arange(1, planes)
    return float(np.exp(rate[0] * planes)) if np.ptp(rate) < 1e-3 * rate[0] else float("nan")


@dataclass(frozen=True)
class Order:
    """Whether the coordinates of two models' keys stand in the same order, in one layer."""

    similarity: float
    """The cosine of the keys as they are."""
    interleaved: bool | None
    """Whether the first model's are in interleaved order where the other's are in half-split order (True), or the
    other way round (False); None if they are in the same order, or not similar in any."""


def orders(one: MeasuredModel, other: MeasuredModel, seed: int) -> list[Order]:
    """Compares the keys of two models, layer by layer, with all rotations stopped.

    Without rotation the order of coordinates changes no product, so both models go the same way through all layers, and
    each layer can be compared although the ones before it may be in another order.
    """
    vocabulary = min(int(each.model.config.vocab_size) for each in (one, other))
    ids = random_tokens(vocabulary, min(CONTENT_TOKENS, one.seq, other.seq), seed)

    def keys(each: MeasuredModel) -> list[Float[Tensor, "head key d_head"]]:
        return each.model.stream(ids, lambda layer: layer.keys[0].float(), interventions=[ScaleAngles(0.0)])

    pairs = zip(keys(one), keys(other), one.found, strict=True)
    return [_order(ours, theirs, 2 * len(facts.frequencies)) for ours, theirs, facts in pairs]  # pyright: ignore[reportArgumentType] (measured)


def _order(ours: Tensor, theirs: Tensor, rotary: int) -> Order:
    if ours.shape != theirs.shape:
        return Order(float("nan"), None)
    to_half = interleaved_to_half(ours.shape[-1], rotary)

    def similarity(order: Tensor | slice) -> float:
        return float(torch.cosine_similarity(ours[..., order].flatten(), theirs.flatten(), 0))

    same, as_half, as_interleaved = similarity(slice(None)), similarity(to_half), similarity(to_half.argsort())
    best = max(as_half, as_interleaved)
    return Order(same, None if best < same + CLEAR else as_half > as_interleaved)
