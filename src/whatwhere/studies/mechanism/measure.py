"""The mechanism of one model (Section 3.2, Figure 3), measured table by table.

An interrupted measurement continues from the tables that are written.
"""

from __future__ import annotations

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import label_of
from whatwhere.heads.roles import RoleShare, role_shares
from whatwhere.heads.scores import score
from whatwhere.heads.summary import estimates, score_windows
from whatwhere.heads.weighting import TAU
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import share_of
from whatwhere.studies.mechanism import tables
from whatwhere.studies.mechanism.ablation import (
    MeanAblation,
    ablate_groups,
    ablate_heads,
    groups_of,
    judge,
    served_distances,
)
from whatwhere.studies.mechanism.copying import compare_decoders, copying, observe_pointers, selectivity
from whatwhere.studies.mechanism.decoders import Decoder, answer_probe, read_answers, read_by_probe, unembedding
from whatwhere.studies.mechanism.examples import attention_of, choose_inputs, examples, flow
from whatwhere.studies.mechanism.keeping import keeping
from whatwhere.studies.mechanism.observation import AT_ONCE, observe
from whatwhere.studies.mechanism.patching import edges, patch, solved_pairs
from whatwhere.studies.mechanism.readout import deliveries, layers_used, moves, pointers, readout
from whatwhere.studies.mechanism.sufficient_sets import confirm, sufficient_sets
from whatwhere.studies.mechanism.tables import Ablation, Chain, Delivery, Kind, SufficientSet, read_heads
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.traceable import trace

LONGEST = 8
"""Hops that are tested, where they fit the vocabulary."""
INPUTS_PER_PAIR = 20
"""Inputs per pair for patching, which runs the model many times per pair; swaps of values use twice as many pairs."""
ABLATED = 4
"""Single heads are ablated on so many times the inputs: what a redundant head costs is little, and 150 inputs of a hop
class show it from 0.07 on only."""
CONFIRMED = 4
"""The fewest heads that suffice are confirmed on so many times the inputs: an interval of 0.04 at 0.95."""
FITTED = 2
"""The probes for the answer are fitted, for each hop class, on so many times the inputs: 10 for each of 120 letters."""
SCORED = 512
"""The most inputs on which heads are scored."""


def measure(model: GPTJ, settings: tables.MechanismSettings, results: Results, progress: Progress) -> None:
    """Measures what the results do not hold yet.

    Raises:
        WhatwhereError: there are too few inputs, the model solves none, or the input to show has no path.
    """
    task = model.task
    assert task is not None, "the subject of this study is a model with its task"
    task.require_whole_pointers("mechanism")
    least = INPUTS_PER_PAIR * task.max_hops
    if settings.inputs < least:
        raise WhatwhereError(
            f"expected at least {least} inputs, {INPUTS_PER_PAIR} for each hop class, got {settings.inputs}."
        )
    if not results.has("contents"):
        _show(model, task, results)
    batch = task.sample(settings.inputs, seed=settings.seed)
    ablation = MeanAblation(model, batch.tokens)
    if not results.has("pointers"):
        _observe(ablation, task, batch, results, progress)
    if not results.has("windows"):
        _score(model, task, batch, results)
    if not results.has("sufficient"):
        _ablate(ablation, task, batch, results, progress)
    if not results.has("confirmed"):
        _confirm(ablation, task, batch, results, progress)
    if not results.has("selectivity"):
        _patch(ablation, task, batch, results, progress)
    if not results.has("chains"):
        results.write("chains", longer_chains(model, task, settings.inputs // task.max_hops, settings.seed, progress))


def _show(model: GPTJ, task: Task, results: Results) -> None:
    """Single inputs."""
    inputs = choose_inputs(model, task, results.settings)
    results.write("examples", examples(model, task, inputs))
    results.write("flow", flow(model, task, inputs[0]))
    attention, contents = attention_of(model, inputs)
    results.write("attention", attention)
    results.write("contents", contents)


def _observe(ablation: MeanAblation, task: Task, batch: Batch, results: Results, progress: Progress) -> None:
    """What happens on the inputs that the model solves."""
    model, seed = ablation.model, results.settings.seed
    solved = _solved(model, batch)
    if not len(solved):
        raise WhatwhereError(
            f"expected a model that solves some inputs, got one that solves none of {len(batch)}; train it further."
        )
    seen = observe(model, solved.tokens, progress)
    brought = deliveries(seen, solved)
    results.write("roles", role_shares(seen.strongest, solved, task.vocabulary, served_distances(brought)))
    results.write("readout", readout(seen, solved))
    results.write("deliveries", brought)
    results.write("keeping", keeping(seen, solved, ablation, task.answer_ids))
    results.write("moves", moves(seen, solved, task.vocabulary))
    results.write("layers_used", layers_used(seen, solved, seed))
    longest = task.sample(len(batch), hops=task.max_hops, seed=seed + 1)
    at_query = observe(model, longest.tokens, progress).at_query
    results.write("pointers", pointers(at_query, longest, task.vocabulary))


def _score(model: GPTJ, task: Task, batch: Batch, results: Results) -> None:
    """Which kind of head each is, at the last token."""
    some = batch.tokens[:SCORED]
    scores = score(trace(model, some), TAU)
    kinds = [
        Kind(layer, head, label_of(positional.value, symbolic.value), positional, symbolic)
        for layer, *both in zip(scores.layers, *estimates(scores, results.settings.seed), strict=True)
        for head, (positional, symbolic) in enumerate(zip(*both, strict=True))
    ]
    results.write("kinds", kinds)
    results.write("windows", score_windows(model, some, task.windows, TAU))


def _ablate(ablation: MeanAblation, task: Task, batch: Batch, results: Results, progress: Progress) -> None:
    """The tables of ablations."""
    if not results.has("ablation"):
        many = task.sample(ABLATED * len(batch), seed=results.settings.seed + 3)
        results.write("ablation", ablate_heads(ablation, many, progress))
    ablations = results.rows("ablation", Ablation)
    if not results.has("verdicts"):
        roles, brought = results.rows("roles", RoleShare), results.rows("deliveries", Delivery)
        results.write("verdicts", judge(roles, brought, ablations))
    if not results.has("groups"):
        needed = {(row.layer, row.head) for row in ablations if row.needed}
        groups = groups_of(results.rows("kinds", Kind), needed)
        results.write("groups", ablate_groups(ablation, batch, groups, progress))
    steps, sets = sufficient_sets(ablation, batch, held_out_inputs(task, results), progress)
    results.write("elimination", steps)
    results.write("sufficient", sets)


def _confirm(ablation: MeanAblation, task: Task, batch: Batch, results: Results, progress: Progress) -> None:
    """The fewest heads that suffice, on inputs that played no part in finding them."""
    sets, seen = results.rows("sufficient", SufficientSet), (batch, held_out_inputs(task, results))
    progress("confirming sufficient heads", 0, 1)
    results.write("confirmed", confirm(ablation, sets, fresh_inputs(task, results), seen))
    progress("confirming sufficient heads", 1, 1)


def held_out_inputs(task: Task, results: Results) -> Batch:
    """The inputs that end the search for sufficient heads."""
    return task.sample(results.settings.inputs, seed=results.settings.seed + 2)


def fresh_inputs(task: Task, results: Results) -> Batch:
    """The inputs that confirm what the search found."""
    return task.sample(CONFIRMED * results.settings.inputs, seed=_apart(task, results) + 2)


def _apart(task: Task, results: Results) -> int:
    """The first of three seeds that nothing else has: those of the probes, of their test, of what confirms."""
    return results.settings.seed + task.max_hops + 2


def _patch(ablation: MeanAblation, task: Task, batch: Batch, results: Results, progress: Progress) -> None:
    """The tables that mix two runs of the model, and those of the probe."""
    model, seed, pairs = ablation.model, results.settings.seed, results.settings.inputs // INPUTS_PER_PAIR
    if not results.has("patching"):
        results.write("patching", patch(model, task, pairs, seed, progress))
    if not results.has("edges"):
        (most,) = (row for row in results.rows("sufficient", SufficientSet) if row.hops == task.max_hops)
        chosen = solved_pairs(model, task, task.max_hops + 1, min(pairs, AT_ONCE), seed)
        results.write("edges", edges(ablation, chosen, read_heads(most.heads), progress))
    apart = _apart(task, results)
    probe = answer_probe(model, task, FITTED * results.settings.inputs, apart, progress)
    decoders = {"unembedding": unembedding(model, task), "probe": probe}
    of_link = observe_pointers(model, task, decoders, 2 * pairs, seed, progress=progress)
    of_answer = observe_pointers(model, task, decoders, 2 * pairs, seed, answer=True, progress=progress)
    results.write("copying", copying(of_link["unembedding"]))
    results.write("decoders", compare_decoders({"link": of_link, "answer": of_answer}))
    tested = task.sample(results.settings.inputs, hops=task.max_hops, seed=apart + 1)
    results.write("decoding", read_answers(model, task, probe, tested))
    _probe(ablation, task, _solved(model, batch), probe, results)
    results.write("selectivity", selectivity(of_link["unembedding"][:-1]))


def _probe(ablation: MeanAblation, task: Task, solved: Batch, probe: Decoder, results: Results) -> None:
    """What follows from where the answer is, if the probe tells that."""
    model, ablations = ablation.model, results.rows("ablation", Ablation)
    seen = read_by_probe(observe(model, solved.tokens), model, probe, solved)
    brought = deliveries(seen, solved)
    roles = role_shares(seen.strongest, solved, task.vocabulary, served_distances(brought))
    results.write("probed_deliveries", brought)
    results.write("probed_verdicts", judge(roles, brought, ablations))
    results.write("probed_keeping", keeping(seen, solved, ablation, task.answer_ids))
    results.write("probed_layers", layers_used(seen, solved, results.settings.seed))


def _solved(model: GPTJ, batch: Batch) -> Batch:
    return batch[model.predict(batch.tokens) == batch.answers]


def longer_chains(model: GPTJ, task: Task, count: int, seed: int, progress: Progress) -> list[Chain]:
    """The accuracy at 1 to 8 hops, as far as the vocabulary allows, with the same generator for all of them."""
    rows = []
    most = min(LONGEST, task.most_hops)
    for hops in range(1, most + 1):
        batch = task.chains(count, hops, seed)
        right = model.predict(batch.tokens) == batch.answers
        rows.append(Chain(hops, hops <= task.max_hops, share_of(right), task.chain_chance(hops)))
        progress("trying longer chains", hops, most)
    return rows
