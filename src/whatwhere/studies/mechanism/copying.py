"""Selective copying (Section 3.2, Figure 3): attention without flow.

Index attends at once to the position that its number points at, and copies nothing until a letter is there: "attention
is maximized at the token located at distance 2 .. but there is no information flow. Only .. once the letter has flown
to that location, it is copied". Retrieval "always copies that pair". So the attention of a pointer p_r to its place
p_(r+1) is split by *moment*: ``before`` the answer is there, once it is ``present``, ``after`` the pointer has it too.

- *logit*: what the head writes from that place towards the answer, by the direct path to the output
  (:mod:`whatwhere.studies.mechanism.attribution`);
- *flow*: the place gets the value that it has on an input with another token there (another link, or another answer),
  in this head and for this pointer alone. How far does the difference between the two answers' logits move?

A place holds the answer if it is the answer's own, or if a decoder names the answer there: the model's unembedding, or
a probe (:mod:`whatwhere.studies.mechanism.decoders`). Both inputs of a pair must agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whatwhere.heads.estimate import Estimate, ratios, share
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.attribution import answer_direction, logits_of_values, values_of
from whatwhere.studies.mechanism.decoders import Decoder
from whatwhere.studies.mechanism.observation import AT_ONCE, LaterPositions, record
from whatwhere.studies.mechanism.patching import solved_pairs
from whatwhere.studies.mechanism.path_tables import Copying, DecodedFlow, Selectivity
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.traceable import trace

MOMENTS = ("before", "present", "after")
NOTHING = 0.001
"""Mean flow below which nothing flows, so that its timing is undefined."""


@dataclass(frozen=True, eq=False)
class Looks:
    """The attention and flow of heads from the place that one pointer of the path indexes, pair by pair."""

    moment: Bool[np.ndarray, "n layer moment"]
    """None of them holds where the two inputs of a pair do not agree."""
    attends: Bool[np.ndarray, "n layer head"]
    logit: Float[np.ndarray, "n layer head"]
    flow: Float[np.ndarray, "n layer head"]


def observe_pointers(
    model: GPTJ,
    task: Task,
    decoders: Mapping[str, Decoder],
    pairs: int,
    seed: int = 0,
    *,
    answer: bool = False,
    progress: Progress = no_progress,
) -> dict[str, list[Looks]]:
    """Observes inputs of the most hops, for each pointer of their paths.

    The inputs of a pair differ in the token of the place that the pointer indexes, or, with ``answer``, in that of the
    answer alone. Then all that a swap can move is the answer itself, in whatever form.

    Returns:
        By decoder, the looks of each pointer: p_0, p_1, ..
    """
    looks: dict[str, list[Looks]] = {name: [] for name in decoders}
    for position in range(task.max_hops):
        progress("swapping values", position, task.max_hops)
        both = solved_pairs(model, task, task.max_hops + 1 if answer else position + 2, pairs, seed)
        parts = [slice(start, start + AT_ONCE) for start in range(0, max(1, len(both[0])), AT_ONCE)]
        found = [
            observe_looks(model, task, [*decoders.values()], both[0][part], both[1][part], position) for part in parts
        ]
        for name, *of_decoder in zip(decoders, *found, strict=True):
            looks[name].append(_joined(of_decoder))
    progress("swapping values", task.max_hops, task.max_hops)
    return looks


@torch.no_grad()
def observe_looks(
    model: GPTJ, task: Task, decoders: Sequence[Decoder], plain: Batch, changed: Batch, position: int
) -> list[Looks]:
    """Observes pairs of inputs that differ behind p_position, from there, with the moments of each decoder."""
    rows, both = torch.arange(len(plain)), (plain, changed)
    here, there = (torch.as_tensor(plain.paths[:, at]).long() for at in (position, position + 1))
    (states, written), (their_states, _) = (record(model, batch.tokens) for batch in both)
    weights = trace(model, plain.tokens, queries=range(plain.tokens.shape[1])).attention()[:, rows, :, here]
    attends = weights.argmax(-1) == there[:, None, None]  # [n, layer, head] of [n, layer, head, key]
    weights = weights[rows, :, :, there]  # [n, layer, head]
    direction = answer_direction(model, states[-1][rows, here], plain.answers, task.answer_ids)
    later = LaterPositions(model, states)
    ends = [later.logits(each[-1], len(written)) for each in (states, their_states)]
    ours, theirs = (torch.as_tensor(batch.answers).long() for batch in both)
    start, end = (logits[rows, theirs] - logits[rows, ours] for logits in ends)
    logit, flow = torch.zeros_like(weights), torch.zeros_like(weights)
    for layer in range(len(written)):
        values, others = (values_of(model, layer, each[layer]) for each in (states, their_states))
        logit[:, layer] = logits_of_values(model, layer, values, direction)[rows, :, there] * weights[:, layer]
        swapped = (others - values)[rows, :, there] * weights[:, layer, :, None]  # [n, head, d_head]
        for head in torch.nonzero(attends[:, layer].any(0)).flatten().tolist():
            new = written[layer].clone()
            new[rows, here, head] += swapped[:, head]
            first = int(here.min())
            after = later.blocks[layer].write(states[layer][:, first:], new[:, first:])
            logits = later.logits(after, layer + 1)
            flow[:, layer, head] = (logits[rows, theirs] - logits[rows, ours] - start) / (end - start)
    seen = [each.numpy(force=True) for each in (attends, logit.double(), flow.double())]
    runs = (states[:-1], plain), (their_states[:-1], changed)
    return [Looks(_moments(task, decoder, runs, position), *seen) for decoder in decoders]


def _moments(
    task: Task, decoder: Decoder, runs: Sequence[tuple[Float[Tensor, "layer n seq d_model"], Batch]], position: int
) -> Bool[np.ndarray, "n layer moment"]:
    """Which moment it is before each layer, by what a decoder reads at p_position and p_(position + 1) on both runs."""
    pointer, place = (
        [_holds(decoder, at, state, batch) for state, batch in runs] if at < task.max_hops else [np.True_, np.True_]
        for at in (position, position + 1)
    )  # of each run: [n, layer]; the answer's own place holds it
    has, lacks = place[0] & place[1], ~pointer[0] & ~pointer[1]
    return np.stack([lacks & ~place[0] & ~place[1], lacks & has, has & pointer[0] & pointer[1]], -1)


def _holds(
    decoder: Decoder, position: int, state: Float[Tensor, "layer n seq d_model"], batch: Batch
) -> Bool[np.ndarray, "n layer"]:
    """Whether the answer is read at a position of the path before each layer."""
    at = torch.as_tensor(batch.paths[:, position]).long()
    return decoder(state[:, torch.arange(len(at)), at], position, batch.hops) == batch.answers[:, None]


def _joined(parts: Sequence[Looks]) -> Looks:
    return Looks(**{name: np.concatenate([vars(one)[name] for one in parts]) for name in vars(parts[0])})


def copying(looks: Sequence[Looks]) -> list[Copying]:
    """What each head does at each moment, from the looks of each pointer: p_0, p_1, .."""
    return [row for position, one in enumerate(looks) for row in _rows(one, position)]


def _rows(looks: Looks, position: int) -> list[Copying]:
    cells = looks.attends[..., None] & looks.moment[:, :, None]  # [n, layer, head, moment]
    asked = np.broadcast_to(looks.moment[:, :, None], cells.shape)
    logit, flow = (_means(each, cells) for each in (looks.logit, looks.flow))
    attends = [share(*map(int, both)) for both in zip(cells.sum(0).flat, asked.sum(0).flat, strict=True)]
    return [
        Copying(layer, head, position, MOMENTS[moment], *each)
        for (layer, head, moment), *each in zip(np.ndindex(cells.shape[1:]), attends, logit, flow, strict=True)
    ]


def selectivity(looks: Sequence[Looks]) -> list[Selectivity]:
    """How selective each head is, and all of them, over pointers whose place holds a pointer at first.

    The intervals are by pair of inputs: the looks of one pair at all layers are not independent.
    """
    cells = np.concatenate([one.attends[..., None] & one.moment[:, :, None, :2] for one in looks])
    flows = np.concatenate([one.flow for one in looks])[..., None] * cells  # [n, layer, head, before or present]
    rows = []
    for at in [(), *np.ndindex(cells.shape[1:3])]:  # all heads, then each
        flow, looked = (each[:, *at] if at else each.sum((1, 2)) for each in (flows, cells))  # [n, 2]
        n = looked.sum(0).astype(int).tolist()
        both = flow.sum(1, keepdims=True)
        (in_time,) = ratios(flow[:, 1:], both, [sum(n) if both.sum() > NOTHING * sum(n) else 0])
        before, present = ratios(flow, looked.astype(np.float64), n)
        layer, head = at or (None, None)
        rows.append(Selectivity(layer, head, before, present, in_time))
    return rows


def compare_decoders(looks: Mapping[str, Mapping[str, Sequence[Looks]]]) -> list[DecodedFlow]:
    """When all heads together copy, by decoder, from the looks by what differs between the inputs of a pair."""
    rows = []
    for changed, of_decoders in looks.items():
        for name, (*of_pointers, _) in of_decoders.items():  # the last pointer's place is the answer's own
            together = selectivity(of_pointers)[0]
            cells = np.concatenate([one.attends & ~one.moment[..., 2, None] for one in of_pointers])
            flows = np.concatenate([one.flow for one in of_pointers]) * cells
            unclear = np.concatenate([~one.moment.any(-1, keepdims=True) for one in of_pointers])
            part, whole = (each.sum((1, 2))[:, None] for each in (flows * unclear, flows))
            n = int(cells.sum()) if whole.sum() > NOTHING * cells.sum() else 0
            rows.append(
                DecodedFlow(name, changed, together.before, together.present, together.share, *ratios(part, whole, [n]))
            )
    return rows


def _means(values: Float[np.ndarray, "n layer head"], cells: Bool[np.ndarray, "n layer head moment"]) -> list[Estimate]:
    """For each layer, head and moment the mean over its pairs."""
    flat = len(cells), int(np.prod(cells.shape[1:]))
    counts, sums = cells.reshape(flat).astype(np.float64), (values[..., None] * cells).reshape(flat)
    return ratios(sums, counts, counts.sum(0).astype(int).tolist())
