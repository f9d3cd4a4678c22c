"""Accuracy at 1 to 8 hops, with and without looped blocks, and the layers that each hop takes.

Longer chains are those of the study ``mechanism`` (:meth:`~whatwhere.tasks.task.Task.chains`): one generator for every
hop count. The best loop is chosen on these inputs, so it is confirmed on others. Tables are written after each hop
count; an interrupted study continues from them.

A looped transformer runs some of its blocks again with the same weights: the residual stream after the last of them
passes through them once more, then through the rest of the model. If a block does one hop from any state, a second run
should do the next hop. This needs the residual stream, so it works with our own model only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int

from whatwhere.heads.estimate import mean
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import share_of
from whatwhere.studies.hops.tables import BEST, LAST_BLOCK, LONGEST, Confirmed, HopsSettings, LoopedAccuracy
from whatwhere.studies.mechanism.observation import observe, run_from
from whatwhere.studies.mechanism.readout import layers_used
from whatwhere.studies.mechanism.tables import LayersUsed
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.tasks.task import Task
from whatwhere.trace.layer import counted

Stretch = tuple[int, int]
"""The first and the last of some neighbouring blocks."""


def measure(model: GPTJ, settings: HopsSettings, results: Results, progress: Progress) -> None:
    """Measures every hop count that the results do not have yet, then confirms the best loops."""
    task = model.task
    assert task is not None, "the subject is a model with a task"
    most = min(LONGEST, task.most_hops)
    accuracy, layers = results.rows("accuracy", LoopedAccuracy), results.rows("layers", LayersUsed)
    for hops in range(len(layers) + 1, most + 1):
        progress(counted(hops, "hop"), hops - 1, most + 1)
        batch = task.chains(settings.inputs, hops, settings.seed)
        right = model.predict(batch.tokens) == batch.answers
        about, guess = (hops, hops <= task.max_hops), task.chain_chance(hops)
        accuracy = [row for row in accuracy if row.hops < hops]  # an interrupted session may have left some of these
        accuracy.append(LoopedAccuracy(*about, None, None, 0, share_of(right), guess))
        accuracy += [
            LoopedAccuracy(*about, *stretch, loops, share_of(found == batch.answers), guess)
            for stretch, loops, found in looped_answers(model, batch.tokens, settings.loops)
        ]
        layers += layers_used(observe(model, batch.tokens), batch, settings.seed)
        results.write("accuracy", accuracy)
        results.write("layers", layers)
    progress("confirming the best loops", most, most + 1)
    results.write("confirmed", _confirm(model, task, accuracy, settings))
    progress("hops measured", most + 1, most + 1)


def stretches(depth: int) -> list[Stretch]:
    """Each block alone, then each third of the model."""
    thirds = [(int(third[0]), int(third[-1])) for third in np.array_split(np.arange(depth), 3) if len(third)]
    single = [(block, block) for block in range(depth)]
    return [*single, *(third for third in thirds if third not in single)]


@torch.no_grad()
def looped_answers(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"], loops: int, some: list[Stretch] | None = None
) -> Iterator[tuple[Stretch, int, Int[np.ndarray, "n"]]]:
    """A model's answers with blocks run again: the stretch, how often (1 .. loops), the answers.

    ``some`` are the blocks: every block and every third by default.
    """
    states = list(model.residuals(model.check_tokens(tokens)))  # before the first block and after each
    blocks = list(model.layers())
    for first, last in stretches(len(blocks)) if some is None else some:
        state = states[last + 1]  # [n, seq, d_model]
        for again in range(1, loops + 1):
            for block in range(first, last + 1):
                state = blocks[block](state, *model.turns_of(block, tokens.shape[1]))
            yield (first, last), again, run_from(model, state, last + 1).argmax(-1).cpu().numpy()


def _confirm(model: GPTJ, task: Task, rows: list[LoopedAccuracy], settings: HopsSettings) -> list[Confirmed]:
    """The best loops beyond the trained hops, on other inputs; none if nothing is looped or no chain is longer.

    Chains without a token that looks like the answer are left out: they can be answered without a hop.
    """
    beyond = sorted({row.hops for row in rows if not row.trained and row.guess < 1})
    found: dict[tuple[Stretch, int], list[float]] = defaultdict(list)
    for row in rows:
        if row.hops in beyond and row.first is not None and row.last is not None:
            found[(row.first, row.last), row.loops].append(row.accuracy.value)
    if not found:
        return []
    means = {loop: float(np.mean(shares)) for loop, shares in found.items()}
    end, made = model.config.layers - 1, []
    for choice, allowed in ((LAST_BLOCK, [(end, end)]), (BEST, stretches(end + 1))):
        stretch, loops = max((loop for loop in means if loop[0] in allowed), key=lambda loop: means[loop])
        right: list[np.ndarray] = []  # of each hop count [before or after, n]
        for hops in beyond:
            batch = task.chains(settings.inputs, hops, settings.seed + 1)
            *_, (_, _, answers) = looped_answers(model, batch.tokens, loops, [stretch])
            right.append(np.stack([model.predict(batch.tokens), answers]) == batch.answers)
        before, after = np.concatenate(right, 1)
        lead = mean(after.astype(np.float64) - before, seed=settings.seed)
        made.append(Confirmed(choice, *stretch, loops, means[stretch, loops], share_of(before), share_of(after), lead))
    return made
