"""Two decoders that tell whether a position of the path holds the answer before a layer.

- *unembedding*: the model's own final norm and unembedding put the answer above all other possible answers (the logit
  lens). It reads the form in which the answer leaves the model, and may miss it in another form.
- *probe*: a linear probe for the answer, one for each hop class, position of the path and layer, fitted on inputs of
  its own. It finds the answer in any linear form, used or not.

Neither uses the other, nor what a swap does. What depends on the choice between them shows where both are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import share_of
from whatwhere.studies.mechanism.observation import AT_ONCE, Observation
from whatwhere.studies.mechanism.path_tables import Decoding
from whatwhere.studies.mechanism.readout import LinearProbe, layer_before, linear_probe
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task

Decoder = Callable[[Float[Tensor, "layer n d_model"], int, Int[np.ndarray, "n"]], Int[np.ndarray, "n layer"]]
"""Names a possible answer from the residual stream before each layer, at one position of paths of so many hops."""


def unembedding(model: GPTJ, task: Task) -> Decoder:
    """The model's own final norm and unembedding, at every position."""
    possible = torch.as_tensor(task.answer_ids).long()

    @torch.no_grad()
    def name(
        state: Float[Tensor, "layer n d_model"], position: int, hops: Int[np.ndarray, "n"]
    ) -> Int[np.ndarray, "n layer"]:
        del position, hops  # it is the same everywhere
        likeliest = model.head(model.norm(state))[..., possible].argmax(-1)
        return task.answer_ids[likeliest.numpy(force=True).T]

    return name


def answer_probe(model: GPTJ, task: Task, inputs: int, seed: int = 0, progress: Progress = no_progress) -> Decoder:
    """A linear probe for each hop class, position of its paths but the answer's own, and layer, fitted here."""
    probes: dict[tuple[int, int], list[LinearProbe]] = {}
    for hops in range(1, task.max_hops + 1):
        progress("fitting probes", hops - 1, task.max_hops)
        batch = task.sample(inputs, hops=hops, seed=seed)
        for position, states in enumerate(states_of(model, batch).numpy(force=True)):
            probes[hops, position] = [linear_probe(state, batch.answers) for state in states]

    def name(
        state: Float[Tensor, "layer n d_model"], position: int, hops: Int[np.ndarray, "n"]
    ) -> Int[np.ndarray, "n layer"]:
        named = np.full((len(hops), len(state)), -1)
        for count in np.unique(hops).tolist():
            some = state[:, torch.as_tensor(hops == count)].numpy(force=True)
            each = zip(probes[count, position], some, strict=True)
            named[hops == count] = np.stack([probe(of_layer) for probe, of_layer in each], 1)
        return named

    return name


@torch.no_grad()
def states_of(model: GPTJ, batch: Batch) -> Float[Tensor, "position layer n d_model"]:
    """The residual stream at each position of the path but the answer's own, before each layer, for one hop class."""
    parts = []
    for start in range(0, len(batch), AT_ONCE):
        part = batch[start : start + AT_ONCE]
        rows, at = torch.arange(len(part)), torch.as_tensor(part.paths[:, : int(part.hops[0])]).long().T
        *before, _ = (state[rows, at] for state in model.residuals(model.check_tokens(part.tokens)))
        parts.append(torch.stack(before, 1))
    return torch.cat(parts, 2)


def read_by_probe(seen: Observation, model: GPTJ, probe: Decoder, batch: Batch) -> Observation:
    """The same observation, except that the probe says what can be read along the paths.

    It is fitted before each layer, at each position of the path but the answer's own. Elsewhere, and after the last
    layer, the unembedding still says it.
    """
    readable = seen.readable.copy()  # [depth, n, seq]
    for hops in np.unique(batch.hops).tolist():
        (rows,) = np.nonzero(batch.hops == hops)
        some = batch[rows]
        for position, states in enumerate(states_of(model, some)):
            readable[:-1, rows, some.paths[:, position]] = probe(states, position, some.hops).T
    return replace(seen, readable=readable)


def read_answers(model: GPTJ, task: Task, probe: Decoder, batch: Batch) -> list[Decoding]:
    """How often each decoder names the answer, on those of some inputs of one hop class that the model solves."""
    solved, rows = batch[model.predict(batch.tokens) == batch.answers], []
    if not len(solved):
        return rows
    guess = float(np.bincount(solved.answers).max() / len(solved))
    for position, states in enumerate(states_of(model, solved)):
        by_lens, by_probe = (
            (decoder(states, position, solved.hops) == solved.answers[:, None]).T
            for decoder in (unembedding(model, task), probe)
        )  # [layer, n]
        for depth, (lens, probed) in enumerate(zip(by_lens, by_probe, strict=True)):
            rows.append(Decoding(position, layer_before(depth), share_of(lens), share_of(probed), guess))
    return rows
