"""Accuracy at 1 to 8 hops, with and without looped blocks, and the layers that each hop takes.

Longer chains are those of the study ``mechanism`` (:meth:`~whatwhere.tasks.task.Task.chains`): one generator for every
hop count. Which loop is best is chosen on these inputs, so it is asked again on others. Tables are written after each
hop count, and what they hold is not measured again.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from jaxtyping import Bool

from whatwhere.heads.estimate import Estimate, mean, share
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.hops.looped_blocks import Stretch, looped_answers
from whatwhere.studies.hops.tables import BEST, LAST_BLOCK, LONGEST, Confirmed, HopsSettings, LoopedAccuracy
from whatwhere.studies.mechanism.observation import observe
from whatwhere.studies.mechanism.readout import layers_used
from whatwhere.studies.mechanism.tables import LayersUsed
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.task import Task


def measure(model: GPTJ, settings: HopsSettings, results: Results, progress: Progress) -> None:
    """Measures every hop count that the results do not hold yet, then confirms the best loops."""
    task = model.task
    assert task is not None, "the subject is a model with a task"
    most = min(LONGEST, task.most_hops)
    accuracy, layers = results.rows("accuracy", LoopedAccuracy), results.rows("layers", LayersUsed)
    for hops in range(len(layers) + 1, most + 1):
        progress(f"{hops} hop{'s' * (hops > 1)}", hops - 1, most + 1)
        batch = task.chains(settings.inputs, hops, settings.seed)
        right = model.predict(batch.tokens) == batch.answers
        about = hops, hops <= task.max_hops
        guess = task.chain_chance(hops)
        accuracy = [row for row in accuracy if row.hops < hops]  # an interrupted sitting may have left some of these
        accuracy.append(LoopedAccuracy(*about, None, None, 0, _share(right), guess))
        accuracy += [
            LoopedAccuracy(*about, *stretch, loops, _share(found == batch.answers), guess)
            for stretch, loops, found in looped_answers(model, batch.tokens, settings.loops)
        ]
        layers += layers_used(observe(model, batch.tokens), batch, settings.seed)
        results.write("accuracy", accuracy)
        results.write("layers", layers)
    progress("confirming the best loops", most, most + 1)
    results.write("confirmed", _confirm(model, task, accuracy, settings))
    progress("hops measured", most + 1, most + 1)


def _confirm(model: GPTJ, task: Task, rows: list[LoopedAccuracy], settings: HopsSettings) -> list[Confirmed]:
    """The best loops beyond the trained hops, on other inputs; none if nothing is looped or no chain is longer.

    Chains without a token that looks like the answer are left out: they can be answered without a hop.
    """
    beyond = sorted({row.hops for row in rows if not row.trained and row.guess < 1})
    means: dict[tuple[Stretch, int], list[float]] = defaultdict(list)
    for row in rows:
        if row.hops in beyond and row.first is not None and row.last is not None:
            means[(row.first, row.last), row.loops].append(row.accuracy.value)
    if not means:
        return []
    end, made = model.config.layers - 1, []
    for choice, allowed in ((LAST_BLOCK, lambda stretch: stretch == (end, end)), (BEST, lambda _: True)):
        stretch, loops = max((key for key in means if allowed(key[0])), key=lambda key: np.mean(means[key]))
        before, after = [], []
        for hops in beyond:
            batch = task.chains(settings.inputs, hops, settings.seed + 1)
            *_, (_, _, found) = looped_answers(model, batch.tokens, loops, [stretch])
            before.append(model.predict(batch.tokens) == batch.answers)
            after.append(found == batch.answers)
        pair = np.concatenate(before), np.concatenate(after)
        lead = mean(pair[1].astype(np.float64) - pair[0], seed=settings.seed)
        chosen_at = float(np.mean(means[stretch, loops]))
        made.append(Confirmed(choice, *stretch, loops, chosen_at, _share(pair[0]), _share(pair[1]), lead))
    return made


def _share(right: Bool[np.ndarray, "n"]) -> Estimate:
    return share(int(right.sum()), len(right))
