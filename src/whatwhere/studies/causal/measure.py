"""Measures the effect of changing heads by label: ablation, closed planes, masked far keys.

The study ``heads`` labels the heads on windows of the texts. An ablated head writes, at each position, its mean output
over all inputs of the probe. Each change of a label's heads is compared with the same change of random other heads in
the same layers. The table of runs is written after each change; an interrupted study continues from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from jaxtyping import Float
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import mean
from whatwhere.studies.causal.head_sets import head_sets, interventions_of
from whatwhere.studies.causal.probes import Probe, make_probes
from whatwhere.studies.causal.tables import ABLATE, CHANGES, Ability, CausalSettings, Condition, Effect, Member, Run
from whatwhere.studies.language_models import HEADS
from whatwhere.studies.language_models.measure import measure as measure_heads
from whatwhere.studies.language_models.scored_inputs import inputs_of
from whatwhere.studies.language_models.tables import HeadRow
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.trace.interventions import Write
from whatwhere.trace.rotary import RotaryModel
from whatwhere.trace.traceable import Traceable

TOKENS_AT_ONCE = 1024
"""Tokens per forward pass; their logits take 1 GB with a vocabulary of 262,144."""
UNCHANGED: Condition = (None, None, None)
Means = dict[int, Float[Tensor, "seq head d_value"]]
"""By layer, the mean output of each head at each position."""


def measure(model: Traceable, settings: CausalSettings, results: Results, progress: Progress) -> None:
    """Labels the heads of a language model, then measures each change that the results do not have yet.

    Raises:
        WhatwhereError: it is a model of ours, there is no text, or no label has enough heads.
    """
    if not isinstance(model, RotaryModel):
        raise WhatwhereError(
            f"expected a language model, got {model.name}, a model of ours; its heads are ablated by: "
            "whatwhere mechanism."
        )
    inputs = inputs_of(model, settings.scoring)
    if not results.has("sets"):
        scored = Results(HEADS, settings.scoring, model.name, inputs=results.inputs)
        measure_heads(model, settings.scoring, scored, progress)
        results.write("sets", head_sets(scored.rows("heads", HeadRow), settings))
    members = results.rows("sets", Member)
    probes = make_probes(model.tokenizer, inputs, settings)
    runs = results.rows("runs", Run)
    if not results.has("abilities"):
        progress("the model as it is", 0, 1)
        runs = [row for probe in probes for row in _run(model, probe, UNCHANGED, [], {}, settings)]
        results.write("runs", runs)
        results.write("abilities", [_ability(probe, runs, settings.seed) for probe in probes])
    able = {row.probe for row in results.rows("abilities", Ability) if row.able}
    probes = [probe for probe in probes if probe.name in able]
    conditions = list(dict.fromkeys((row.label, row.draw, change) for row in members for change in CHANGES))
    done = {row.condition for row in runs}
    missing = [condition for condition in conditions if condition not in done]
    means = {probe.name: _means(model, probe) for probe in probes} if any(c[2] == ABLATE for c in missing) else {}
    for number, (label, draw, change) in enumerate(missing):
        control = "" if draw is None else f", control {draw + 1}"
        progress(f"{change}: {label}{control}", number, len(missing))
        some = [row for row in members if (row.label, row.draw) == (label, draw)]
        for probe in probes:
            runs += _run(model, probe, (label, draw, change), some, means.get(probe.name, {}), settings)
        results.write("runs", runs)
    results.write("effects", effects(runs, settings.seed))
    progress("changes measured", len(missing), len(missing))


def _run(
    model: RotaryModel, probe: Probe, condition: Condition, members: Sequence[Member], means: Means,
    settings: CausalSettings,
) -> list[Run]:  # fmt: skip
    """One probe under one change."""
    rows: list[Run] = []
    change = condition[2]
    if change == ABLATE:  # Ablate takes its means from the inputs of one pass; these are of all passes
        changes = [Write(row.layer, row.head, means[row.layer][:, row.head]) for row in members]
    else:
        changes = interventions_of(change, members, settings.recent) if change else []
    for some, tokens in _parts(probe):
        logits = model.run(tokens, interventions=changes, last=probe.last)
        both = zip(*(each.tolist() for each in probe.score(logits, some)), strict=True)
        rows += [Run(*condition, probe.name, some.start + at, *each) for at, each in enumerate(both)]
    return rows


def _parts(probe: Probe) -> Iterator[tuple[slice, dict[str, Tensor]]]:
    """Some inputs at a time."""
    count, seq = probe.ids.shape
    at_once = max(1, TOKENS_AT_ONCE // seq)
    for start in range(0, count, at_once):
        some = slice(start, start + at_once)
        yield some, {"input_ids": probe.ids[some], "attention_mask": probe.real[some]}


def _means(model: RotaryModel, probe: Probe) -> Means:
    """The mean output of every head over the inputs of a probe, without padding."""
    sums: Means = {}
    for _, tokens in _parts(probe):
        inputs = model.inputs(tokens)
        for layer, output in model.record(inputs, model.attending).items():
            own = (output * inputs.real[..., None, None]).sum(0)
            sums[layer] = sums[layer] + own if layer in sums else own
    count = probe.real.sum(0).clamp(min=1)[:, None, None]
    return {layer: total / count.to(total.device) for layer, total in sums.items()}


def _ability(probe: Probe, runs: Sequence[Run], seed: int) -> Ability:
    own = [row for row in runs if row.probe == probe.name]
    loss, right = mean([row.loss for row in own], seed=seed), mean([row.right for row in own], seed=seed)
    able = not right.low <= probe.chance  # a text has no chance level (NaN), and is always measured
    return Ability(probe.name, int(probe.asked.sum()), loss, right, probe.chance, able)


def effects(runs: Sequence[Run], seed: int) -> list[Effect]:
    """What each change does to each probe, input by input against the unchanged model and against the controls."""
    frame = pd.DataFrame([vars(row) for row in runs])
    before = frame.loc[frame.change.isna(), ["probe", "item", "loss", "right"]]
    after = frame[frame.change.notna()].merge(before, on=["probe", "item"], suffixes=("", "_before"))
    after = after.assign(loss=after.loss - after.loss_before, right=after.right - after.right_before)
    found = []
    for name, rows in after.groupby(["label", "change", "probe"], sort=False):
        label, change, probe = map(str, name)  # pyright: ignore[reportArgumentType] (the name of a group of three)
        own, drawn = rows[rows.draw.isna()], rows[rows.draw.notna()]
        control = drawn.groupby("item").loss.mean()
        each = drawn.groupby("draw").loss.mean()
        excess = own.set_index("item").loss - control
        numbers = (mean(values.to_numpy(), seed=seed) for values in (own.loss, control, excess, own.right))
        beaten = int((each < own.loss.mean()).sum())
        found.append(Effect(label, change, probe, *numbers, draws=len(each), beaten=beaten))
    return found
