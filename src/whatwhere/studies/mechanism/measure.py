"""The mechanism of one model (Section 3.2, Figure 3), as tables on disk: flow, roles, read-outs, causes, shortcuts.

flow.json         one input: where every position looks, what can be read there; trained and ideal
roles.csv         what the strongest key of path positions is, per layer and head, on solved inputs
readout.csv       P(answer readable at p_r after layer l), per hop class, on solved inputs
deliveries.csv    which layer brings the answer to which distance
moves.csv         from how many hops ahead it was fetched
layers_used.csv   layers until it stands at the last position, against hops and doubling
pointers.csv      addresses ahead that a linear probe decodes at the last position
ablation.csv      accuracy per hop class before and after each head is mean-ablated
verdicts.csv      which roles the ablation bears out
windows.csv       scores with swaps inside the target and the pre-target window alone
patching.csv      where a changed hop can be patched in
hops.csv          accuracy at 1 to 8 hops
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.heads.intervals import wilson_interval
from whatwhere.heads.roles import RoleShare, role_shares
from whatwhere.heads.summary import score_windows
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.ablation import ablate, judge
from whatwhere.studies.mechanism.flow import flow
from whatwhere.studies.mechanism.observation import Progress, observe, silent
from whatwhere.studies.mechanism.patching import patch
from whatwhere.studies.mechanism.paths import as_batch, chains, decoys, most_hops
from whatwhere.studies.mechanism.probe import pointers
from whatwhere.studies.mechanism.readout import Delivery, deliveries, layers_used, moves, readout
from whatwhere.studies.results import Results
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.letter import LetterTask
from whatwhere.tasks.task import Task

LONGEST = 8
"""Hops that are tested, where they fit the vocabulary."""
INPUTS_PER_PAIR = 20
"""Patching runs the model some 130 times per pair, so there is one pair for so many inputs."""
SCORED = 512
"""Inputs on which windows are scored, if there are so many; as many as `whatwhere score` takes."""


@dataclass(frozen=True)
class HopAccuracy:
    """The accuracy at one hop count, trained on or not."""

    hops: int
    trained_up_to: int
    """The largest hop class of training."""
    accuracy: float
    low: float
    high: float
    count: int
    guess: float
    """The accuracy of guessing among the target tokens that look like the answer; 1 means that nothing hides it."""


def task_of(model: GPTJ) -> Task:
    """The task that a model was trained on.

    Raises:
        WhatwhereError: it does not say.
    """
    if model.task is None:
        raise WhatwhereError(
            "this model does not say which task it was trained on, and paths are needed here; use a checkpoint that "
            "`whatwhere train` wrote."
        )
    return model.task


def choose_input(model: GPTJ, text: str | None, hops: int | None, seed: int) -> Batch:
    """The input whose flow is shown: the given text, or a sampled one of so many hops that the model solves.

    Raises:
        WhatwhereError: the text has no path, or the hop count does not exist.
    """
    task = task_of(model)
    if text is not None:
        return as_batch(task, task.encode(text))
    drawn = task.sample(64, hops=task.max_hops if hops is None else hops, seed=seed)
    solved = model.predict(drawn.tokens) == drawn.answers
    first = int(solved.argmax())  # the first of all, if none is solved
    return drawn[first : first + 1]


def measure(
    model: GPTJ,
    results: Results,
    *,
    inputs: int = 2000,
    seed: int = 0,
    shown: Batch | None = None,
    progress: Progress = silent,
) -> None:
    """Measures everything and writes it; tables that are there already stay, so that an interrupted run goes on.

    Args:
        model: a model that knows its task.
        results: where the tables go.
        inputs: sequences, equally many of each hop class; patching takes a twentieth as many pairs for each hop.
        seed: of the sequences and of resampling.
        shown: the input whose flow is kept; by default one of the most hops.
        progress: told how far the work is.

    Raises:
        WhatwhereError: there are too few inputs, or the model solves none.
    """
    task = task_of(model)
    least = INPUTS_PER_PAIR * task.max_hops
    if inputs < least:
        raise WhatwhereError(
            f"at least {least} inputs were expected, {INPUTS_PER_PAIR} for each hop class, and {inputs} arrived."
        )
    chosen = choose_input(model, None, None, seed) if shown is None else shown
    flow(model, task, chosen).save(results.directory / "flow.json", results.owner("flow"))
    batch = task.sample(inputs, seed=seed)
    if not results.has("pointers"):
        _watch(model, task, batch, results, seed, progress)
    if not results.has("verdicts"):
        ablations = ablate(model, batch, progress)
        results.write("ablation", ablations)
        roles, brought = results.read("roles", RoleShare), results.read("deliveries", Delivery)
        results.write("verdicts", judge(roles, brought, ablations))
    if not results.has("windows"):
        some = task.sample(min(inputs, SCORED), seed=seed)
        results.write("windows", score_windows(model, some.tokens, task.windows))
    if not results.has("patching"):
        results.write("patching", patch(model, task, inputs // INPUTS_PER_PAIR, seed, progress))
    if not results.has("hops"):
        results.write("hops", longer_hops(model, task, inputs // task.max_hops, seed, progress))


def _watch(model: GPTJ, task: Task, batch: Batch, results: Results, seed: int, progress: Progress) -> None:
    """The tables that only look on, over the inputs that the model solves."""
    solved = batch[model.predict(batch.tokens) == batch.answers]
    if not len(solved):
        raise WhatwhereError(
            f"the model solves none of {len(batch)} inputs, so there is no mechanism to look for; train it further."
        )
    seen = observe(model, solved.tokens, progress)
    results.write("roles", role_shares(seen.strongest, solved, task.vocabulary))
    results.write("readout", readout(seen, solved))
    results.write("deliveries", deliveries(seen, solved))
    results.write("moves", moves(seen, solved, task.vocabulary))
    results.write("layers_used", layers_used(seen, solved, seed))
    longest = task.sample(len(batch), hops=task.max_hops, seed=seed + 1)
    at_query = observe(model, longest.tokens, progress).at_query
    results.write("pointers", pointers(at_query, longest, task.vocabulary))


def longer_hops(model: GPTJ, task: Task, count: int, seed: int = 0, progress: Progress = silent) -> list[HopAccuracy]:
    """The accuracy at 1 to 8 hops, as far as the vocabulary allows, with the same generator for all of them."""
    rows = []
    most = min(LONGEST, most_hops(task))
    for hops in range(1, most + 1):
        batch = chains(task, count, hops, seed)
        right = int(np.sum(model.predict(batch.tokens) == batch.answers))
        alike = 1 + decoys(task, hops) if isinstance(task, LetterTask) else task.target
        ends = wilson_interval(right, count)
        rows.append(HopAccuracy(hops, task.max_hops, right / count, *ends, count, 1 / alike))
        progress("trying longer chains", hops, most)
    return rows
