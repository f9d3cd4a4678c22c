"""Activation patching between two inputs that differ in one token of the path.

The model runs on an input, but at one place it gets what it computed on the other input.

- **Places.** The residual stream at one position of the path after a layer. If the answer becomes that of the other
  input, this place carries the change. The changed pointer is at p_(hop-1). Its effect must reach p_0 through the
  pointers between, and those positions, common to the two paths, are patched.
- **Edges** (path patching). What one head writes at one position of the path reaches one later head alone, as its
  query, key or value. All heads between stay as they were; MLPs do not. The output of the later head then acts freely.
  Here the inputs differ in the answer itself. Effects are shares of the difference between the two answers' logits.

(:class:`whatwhere.trace.interventions.Patch` replaces a head at all positions.)
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.heads.estimate import ratios, share
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.ablation import MeanAblation
from whatwhere.studies.mechanism.observation import AT_ONCE, Edits, LaterPositions, record, replaced
from whatwhere.studies.mechanism.path_tables import Edge
from whatwhere.studies.mechanism.tables import Head, Patched
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch, hops_of
from whatwhere.tasks.task import Task

Place = tuple[int | None, int | None, int]
"""Layer, head and position of the path. Without a layer: the token itself at the start, the answer at the end."""


def change_one_hop(task: Task, batch: Batch, hop: int, seed: int = 0) -> tuple[Batch, Batch]:
    """Pairs of inputs that differ in one token: the pointer of one hop, so that the answer changes.

    A change that keeps the hop count, so that both inputs ask for the same work, is preferred; an alphabet of 8 letters
    often has none, and then the count may change within the task's classes. Inputs that allow neither are left out.

    Hops count from 1: the pointer at p_(hop-1) is exchanged. One more than the hops of the batch: the answer itself is
    exchanged, and the path stays. The seed is that of the choice among the tokens that serve.

    Returns:
        The inputs for which there is a change, and the changed inputs.
    """
    rows = np.arange(len(batch))
    position = batch.paths[:, hop - 1]
    if of_answer := hop > int(batch.hops.min()):
        options = np.repeat(task.answer_ids.astype(np.int32)[:, None], len(batch), 1)  # [option, n]
    else:
        options = task.vocabulary.alternatives(batch.tokens[rows, position])
    liking = np.zeros(options.shape)  # 0: does not serve, 1: another hop count, 2: the same
    for option, token in enumerate(options):
        tokens = batch.tokens.copy()
        tokens[rows, position] = token
        paths, answered = task.follow(tokens)
        hops = hops_of(paths)
        end = paths[rows, hops]
        serves = answered & (tokens[rows, end] != batch.answers) & (hops <= task.max_hops)
        if of_answer:
            serves &= (hops == batch.hops) & (end == position)
        liking[option] = np.where(serves, 1 + (hops == batch.hops), 0)
    (some,) = np.nonzero(liking.max(0) > 0)
    chosen = (liking + np.random.default_rng(seed).random(liking.shape)).argmax(0)
    tokens = batch.tokens.copy()
    tokens[rows, position] = options[chosen, rows]
    return batch[some], task.batch_of(tokens[some])


def solved_pairs(model: GPTJ, task: Task, hop: int, pairs: int, seed: int = 0) -> tuple[Batch, Batch]:
    """Inputs of the most hops with one hop (or, one further, the answer) changed; the model solves both of a pair."""
    drawn = task.sample(2 * pairs, hops=task.max_hops, seed=seed + hop)
    plain, changed = change_one_hop(task, drawn, hop, seed)
    solved = (model.predict(plain.tokens) == plain.answers) & (model.predict(changed.tokens) == changed.answers)
    return plain[solved][:pairs], changed[solved][:pairs]


def patch(model: GPTJ, task: Task, pairs: int, seed: int = 0, progress: Progress = no_progress) -> list[Patched]:
    """Patches places, for a change in each of the hops, on up to ``pairs`` pairs of inputs."""
    hops = task.max_hops
    rows: list[Patched] = []
    for hop in range(1, hops + 1):
        progress("patching activations", hop * (hop - 1), hops * (hops + 1))
        plain, changed = solved_pairs(model, task, hop, pairs, seed)
        same_hops = int((plain.hops == changed.hops).sum())
        for (layer, position), flips in np.ndenumerate(count_flips(model, plain, changed, hop)):
            rows.append(Patched(hops, hop, layer, position, share(int(flips), len(plain)), same_hops))
    progress("patching activations", 1, 1)
    return rows


@torch.no_grad()
def count_flips(model: GPTJ, plain: Batch, changed: Batch, positions: int) -> Int[np.ndarray, "layer position"]:
    """How many answers to ``plain`` become those of ``changed``, for each place that is patched: p_0, p_1, .."""
    flips = np.zeros((model.config.layers, positions), np.int64)
    for start in range(0, len(plain), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        (states, _), (theirs, _) = record(model, plain.tokens[part]), record(model, changed.tokens[part])
        later = LaterPositions(model, states)
        for layer, position in np.ndindex(flips.shape):
            at = torch.as_tensor(plain.paths[part, position]).long()
            new = replaced(states[layer + 1], theirs[layer + 1], at)
            logits = later.logits(new[:, at.min() :], layer + 1)
            flips[layer, position] += (logits.argmax(-1).numpy(force=True) == changed.answers[part]).sum()
    return flips


def edges(
    ablation: MeanAblation, pairs: tuple[Batch, Batch], heads: Collection[Head], progress: Progress = no_progress
) -> list[Edge]:
    """Every edge between some heads at the positions of the path, in the whole model and with all other heads ablated.

    The pairs are inputs of one hop class, and the same with another answer; the heads the sufficient set of the class.
    """
    if not len(pairs[0]):
        return []
    found, names = [], []
    for done, others in enumerate(([], [head for head in ablation.heads if head not in heads])):
        progress("patching paths", done, 2)
        gap, gains = edge_gains(ablation.model, *pairs, heads, ablation.edits(others))
        names, n = list(gains), [len(gap)] * len(gains)
        found.append(ratios(np.stack([*gains.values()], 1), np.repeat(gap[:, None], len(gains), 1), n))
    progress("patching paths", 2, 2)
    hops = int(pairs[0].hops[0])
    return [Edge(hops, *sender, *receiver, *both) for (sender, receiver), *both in zip(names, *found, strict=True)]


@torch.no_grad()
def edge_gains(
    model: GPTJ, plain: Batch, changed: Batch, heads: Collection[Head], base: Edits | None = None
) -> tuple[Float[np.ndarray, "n"], dict[tuple[Place, Place], Float[np.ndarray, "n"]]]:
    """How far the logits move from the plain answer to the changed one: on the changed input, and for each edge.

    The inputs are of one hop class, and the same with another answer. Edges are between ``heads``. ``base`` is a change
    of what heads write in all runs.
    """
    hops, base = int(plain.hops[0]), base or {}
    at = torch.as_tensor(plain.paths).long().T  # [position, n]
    (states, written), (their_states, theirs) = (record(model, batch.tokens, base) for batch in (plain, changed))
    run = LaterPositions(model, states)
    depth, blocks = len(run.blocks), run.blocks
    rows, ours, other = (
        torch.as_tensor(each).long() for each in (np.arange(len(plain)), plain.answers, changed.answers)
    )

    def moved(logits: Tensor) -> Float[np.ndarray, "n"]:
        return (logits[rows, other] - logits[rows, ours]).double().numpy(force=True)

    def changed_from(layer: int, new: Tensor, first: int) -> Tensor:
        """The stream after a layer, from the first changed position on, if its heads write this."""
        return blocks[layer].write(states[layer][:, first:], new[:, first:])

    start = moved(run.logits(states[-1], depth))
    gains: dict[tuple[Place, Place], Float[np.ndarray, "n"]] = {}
    for sender in [(None, None, hops), *((*head, position) for head in sorted(heads) for position in range(hops))]:
        layer, head, position = sender
        first = int(at[position].min())
        if layer is None or head is None:
            state = replaced(states[0], their_states[0], at[position])[:, first:]
        else:
            state = changed_from(layer, replaced(written[layer], theirs[layer], at[position], head), first)
        for later in range(0 if layer is None else layer + 1, depth):
            receivers = [index for at_layer, index in sorted(heads) if at_layer == later]
            would = written[later].clone()
            if receivers:
                would[:, first:] = run.attend(later, state)
            for receiver in receivers:
                for place in range(min(position + 1, hops)):
                    new = replaced(written[later], would, at[place], receiver)
                    logits = run.logits(changed_from(later, new, int(at[place].min())), later + 1, base)
                    gains[sender, (later, receiver, place)] = moved(logits) - start
            state = blocks[later].write(state, written[later][:, first:])
        if position == 0:
            gains[sender, (None, None, 0)] = moved(run.logits(state, depth)) - start
    return moved(run.logits(their_states[-1], depth)) - start, gains
