"""Scores, entropy, frequency use and labels of a model's heads, on its task or on text (Section 2.2).

One pass per batch of inputs; each layer is reduced at once, so memory does not grow with depth or the number of inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whatwhere.heads.frequency import weighted_id
from whatwhere.heads.levels import score_model_weightings
from whatwhere.heads.purity import label_of
from whatwhere.heads.summary import HeadSummary, summary_rows
from whatwhere.heads.weighting import TAUS
from whatwhere.machine.memory import in_smaller_blocks
from whatwhere.studies.language_models.induction import induction
from whatwhere.studies.language_models.layer_facts import (
    PAPER,
    RENORMALISED,
    REST,
    LayerFacts,
    join_facts,
    reduce_layer,
    shown_attention,
    shown_queries,
    shown_tokens,
    stack_layers,
    traced_queries,
    weightings_of,
)
from whatwhere.studies.language_models.passages import checksum_of
from whatwhere.studies.language_models.scored_inputs import ScoredInputs, choose_heads, inputs_of
from whatwhere.studies.language_models.tables import (
    About,
    HeadRow,
    HeadsSettings,
    PlaneWeight,
    TemperatureScore,
    WindowScore,
)
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.trace.layer import LayerTrace
from whatwhere.trace.traceable import Traceable

TOKENS_AT_ONCE = 2048
"""Tokens per forward pass."""


def measure(model: Traceable, settings: HeadsSettings, results: Results, progress: Progress) -> None:
    """Scores the chosen heads of our models or of a language model, and keeps their attention on a few inputs."""
    chosen = choose_heads(settings.only, model.depth, model.heads, model.attending)
    inputs = inputs_of(model, settings)
    facts, error = _layers(model, inputs, chosen, settings, progress)
    repeats = induction(model, inputs.vocabulary, layers=list(chosen), seed=settings.seed).tolist()  # [layer][head]
    rows: list[HeadRow] = []
    origin = _origin(model, inputs, settings, results)
    repeated = dict(zip(chosen, repeats, strict=True))
    for _, group in groupby(facts, key=lambda layer: len(layer.heads)):
        same = {layer.layer: layer for layer in group}
        both = (stack_layers([layer.scores[name] for layer in same.values()]) for name in (PAPER, RENORMALISED))
        for one in summary_rows(*both, gamma=settings.gamma, seed=settings.seed):
            layer = same[one.layer]
            rows.append(_row(layer, one, repeated[one.layer][layer.heads[one.head]], origin))
    results.write("spectrum", [row for layer in facts for row in _spectrum(layer)])
    if settings.taus:
        results.write("temperatures", [row for layer in facts for row in _temperatures(layer, settings.gamma)])
    if settings.windows:
        results.write("windows", [row for layer in facts for row in _windows(layer, list(inputs.windows))])
    results.write("tokens", shown_tokens(inputs))
    results.write("attention", shown_attention(facts, shown_queries(inputs)))
    results.write("heads", rows)
    count, seq = inputs.ids.shape
    about = About(
        family=str(getattr(model, "family", model.name)),
        source=inputs.source,
        is_text=inputs.is_text,
        inputs=count,
        tokens=seq,
        queries=len(inputs.queries),
        begins=inputs.begins,
        interval="inputs" if count > 1 else "queries" if len(inputs.queries) > 1 else "none",
        undefined=sum(row.undefined for row in rows),
        error=error,
    )
    results.write("about", [about])
    progress("heads scored", 1, 1)


def _layers(
    model: Traceable,
    inputs: ScoredInputs,
    chosen: Mapping[int, Sequence[int]],
    settings: HeadsSettings,
    progress: Progress,
) -> tuple[list[LayerFacts], float]:
    """The facts of each layer, and the largest error of a rebuilt output (NaN where nothing is rebuilt)."""
    batches = inputs.ids.split(max(1, TOKENS_AT_ONCE // inputs.ids.shape[1]))
    done, total, error = 0, len(batches) * len(chosen), math.nan

    @torch.no_grad()
    def stream(some: Tensor) -> list[LayerFacts]:
        def reduce(layer: LayerTrace) -> LayerFacts:
            nonlocal done
            progress(f"scoring layer {layer.layer}", min(done, total), total)
            reduced = reduce_layer(layer, chosen[layer.layer], inputs, settings)
            done += 1
            return reduced

        return model.stream(some, reduce, layers=list(chosen), queries=traced_queries(inputs))

    def join(parts: Sequence[list[LayerFacts]]) -> list[LayerFacts]:
        return [join_facts(same) for same in zip(*parts, strict=True)]

    parts = []
    for batch in batches:
        parts.append(in_smaller_blocks(stream, batch, join))
        measured = getattr(model, "measurements", {}).values()
        error = float(np.fmax(error, max((layer.error for layer in measured), default=math.nan)))
    facts = join(parts)
    if settings.level == "tokens":
        weightings = weightings_of(inputs, settings)
        swapped = score_model_weightings(
            model, inputs.ids, list(weightings.values()), level="tokens", layers=list(chosen)
        )
        facts = [layer.with_scores(list(weightings), swapped) for layer in facts]
    return facts, error


def _origin(model: Traceable, inputs: ScoredInputs, settings: HeadsSettings, results: Results) -> dict[str, Any]:
    """The first columns of the table: the model and the inputs. Local paths are left out."""
    name, commit = results.name or model.name, getattr(getattr(model, "config", None), "_commit_hash", None)
    texts = checksum_of(settings.decisive()["text"])
    return {
        "model": Path(name).name if Path(name).exists() else name,
        "revision": str(commit or results.inputs.get("model", "")),
        "text": texts if inputs.is_text else f"{inputs.source}, seed {settings.seed}",
        "tau": settings.tau,
        "gamma": settings.gamma,
    }


def _row(layer: LayerFacts, found: HeadSummary, repeats: float, origin: dict[str, Any]) -> HeadRow:
    at = found.head  # an index into the heads that were chosen
    rest = layer.both(REST, at)
    weights = _weights(layer, at)
    best = None if np.isnan(weights).all() else int(np.nanargmax(weights))
    known: dict[str, Any] = origin | vars(found) | {"head": layer.heads[at]}
    previous, first = layer.looks[:2, :, at].mean((1, 2)).tolist()
    return HeadRow(
        **known,
        positional_centred=1 - found.symbolic.value,
        symbolic_centred=1 - found.positional.value,
        previous=previous,
        first=first,
        induction=repeats,
        rest_positional=rest[0],
        rest_symbolic=rest[1],
        rest_label=label_of(*rest, origin["gamma"]),
        planes=len(layer.frequencies),
        weighted_id=math.nan if best is None else float(weighted_id(weights)),
        dominant_id=None if best is None else best + 1,
        dominant_share=math.nan if best is None else float(weights[best]),
        dominant_frequency=math.nan if best is None else float(layer.frequencies[best]),
    )


def _weights(layer: LayerFacts, at: int) -> np.ndarray:
    """The mean weight of each plane over the inputs for which it is defined; NaN if there is none."""
    use = layer.use[:, at]  # [input, plane]
    defined = ~np.isnan(use).any(1)
    return use[defined].mean(0) if defined.any() else np.full(use.shape[1], np.nan)


def _spectrum(layer: LayerFacts) -> list[PlaneWeight]:
    return [
        PlaneWeight(layer.layer, head, plane + 1, float(layer.frequencies[plane]), float(weight))
        for at, head in enumerate(layer.heads)
        for plane, weight in enumerate(_weights(layer, at))
    ]


def _temperatures(layer: LayerFacts, gamma: float) -> list[TemperatureScore]:
    return [
        TemperatureScore(layer.layer, head, tau, *layer.both(tau, at), label_of(*layer.both(tau, at), gamma))
        for at, head in enumerate(layer.heads)
        for tau in TAUS
    ]


def _windows(layer: LayerFacts, names: Sequence[str]) -> list[WindowScore]:
    return [
        WindowScore(layer.layer, head, name, float(look.mean()), *layer.both(("window", name), at))
        for at, head in enumerate(layer.heads)
        for name, look in zip(names, layer.looks[2:, :, at], strict=True)
    ]
