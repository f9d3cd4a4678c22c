"""Example inputs: the one of Figures 1 and 3, and a few of each hop class for the page.

For each: its tokens, path and answer, what the model answers, the attention of every head at every position, and for
the last query the content-by-position matrix M of :mod:`whatwhere.trace.layer`. With M the page can swap two keys and
show the new attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.observation import observe
from whatwhere.studies.mechanism.tables import Attention, Content, Example, Look, MechanismSettings
from whatwhere.studies.results import Results
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.functions import follow_pointers, reflexive
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import Vocabulary
from whatwhere.trace.traceable import trace

DECIMALS = 3
"""Of attention and logits: enough to draw them, and to find the same attention from the logits within 0.002."""


def choose_inputs(model: GPTJ, task: Task, settings: MechanismSettings) -> list[Batch]:
    """The input of Figures 1 and 3 (the user's own, or a sampled one that the model solves), then those of the page.

    Raises:
        WhatwhereError: the text has no path, or the hop count does not exist.
    """
    if settings.input is not None:
        shown = as_batch(task, task.encode(settings.input))
    else:
        drawn = task.sample(64, hops=task.max_hops if settings.hops is None else settings.hops, seed=settings.seed)
        solved = model.predict(drawn.tokens) == drawn.answers
        first = int(solved.argmax())  # the first of all, if none is solved
        shown = drawn[first : first + 1]
    if not settings.examples:
        return [shown]
    others = task.sample(settings.examples * task.max_hops, seed=settings.seed)
    return [shown, *(others[at : at + 1] for at in range(len(others)))]


def as_batch(task: Task, tokens: Int[np.ndarray, "seq"]) -> Batch:
    """One sequence with its answer and path.

    Raises:
        WhatwhereError: it has no answer, or no hop to follow.
    """
    if len(tokens) == 0:
        raise WhatwhereError("expected an input of at least two tokens, got an empty one.")
    if not task.vocabulary.points(tokens[-1:])[0]:
        raise WhatwhereError(
            f"expected an input whose last token points, got {task.decode(tokens[-1:])!r} at its end; the path starts "
            f"there, so end it with {task.vocabulary.pointer}."
        )
    return task.batch_of(tokens[None])


def examples(model: GPTJ, task: Task, inputs: Sequence[Batch]) -> list[Example]:
    """The table of inputs."""
    names = task.vocabulary.names
    return [
        Example(
            number, int(one.hops[0]),
            tokens=" ".join(names[token] for token in one.tokens[0]),
            path=" ".join(str(position) for position in one.paths[0] if position >= 0),
            target=int(task.vocabulary.points(one.tokens[0]).argmax()),
            answer=names[one.answers[0]], predicted=names[model.predict(one.tokens)[0]],
        )
        for number, one in enumerate(inputs)
    ]  # fmt: skip


@torch.no_grad()
def attention_of(model: GPTJ, inputs: Sequence[Batch]) -> tuple[list[Attention], list[Content]]:
    """The attention of every query, and the matrix M of the last."""
    attention: list[Attention] = []
    contents: list[Content] = []
    for number, one in enumerate(inputs):
        found = trace(model, one.tokens, queries=range(one.tokens.shape[1]))
        weights = _rounded(found.attention()[:, 0])  # [layer, head, query, key]
        attention += [
            Attention(number, layer, head, query, key, float(weight))
            for (layer, head, query, key), weight in np.ndenumerate(weights)
            if key <= query
        ]
        matrices = _rounded(torch.stack([layer.double().content_by_position(-1)[0] for layer in found.layers]))
        contents += [
            Content(number, layer, head, content, position, float(logit))
            for (layer, head, content, position), logit in np.ndenumerate(matrices)
        ]
    return attention, contents


def flow(model: GPTJ, task: Task, batch: Batch) -> list[Look]:
    """Information flow on one input (Figure 3): where each position looks in each layer, and when the answer is there.

    The trained model is compared with the paper's ideal: Index or Retrieval for as many layers as the input has hops,
    then Reflexive (Section 3.2). With fewer layers than hops it does not get to the answer.
    """
    tokens = batch.tokens[:1]
    ideal = _ideal(tokens, task.vocabulary, int(batch.hops[0]), model.config.layers)
    return [*_trained(model, tokens, task.vocabulary.names), *ideal]


def _trained(model: GPTJ, tokens: Int[np.ndarray, "1 seq"], names: tuple[str, ...]) -> list[Look]:
    seen = observe(model, tokens)
    looks = []
    for layer in range(seen.layers):
        for position in range(tokens.shape[1]):
            weight = seen.weight[layer, 0, :, position]  # [head]
            head = int(weight.argmax())
            key = int(seen.strongest[layer, 0, head, position])
            token = names[seen.readable[layer + 1, 0, position]]
            chance = float(seen.chance[layer + 1, 0, position])
            looks.append(Look("trained", layer, position, key, float(weight[head]), head, token, chance, ""))
    return looks


def _ideal(tokens: Int[np.ndarray, "1 seq"], vocabulary: Vocabulary, hops: int, layers: int) -> list[Look]:
    # Retrieval leaves several copies of a token, all of them right; where the input points there is always one of them.
    there = vocabulary.goals(tokens)[0]
    looks = []
    for layer in range(layers):
        acts = layer < hops
        moving = vocabulary.points(tokens[0]) & (there >= 0) & acts
        tokens = follow_pointers(tokens, vocabulary) if acts else reflexive(tokens)
        function = vocabulary.function if acts else "reflexive"
        for position, token in enumerate(tokens[0]):
            key = int(there[position]) if moving[position] else position
            looks.append(Look("ideal", layer, position, key, 1.0, None, vocabulary.names[token], 1.0, function))
    return looks


def carriers(looks: Sequence[Look], path: Sequence[int], answer: str) -> dict[int, int]:
    """For each pointer of the path, the layer whose look can have brought the answer there.

    It is the latest layer, up to the one after which the answer can be read there for good, that looks at a position to
    which the answer had been brought before, or where it could be read before. (That may be off the path: other tokens
    can lead to the same answer.) Pointers without such a look are left out: the strongest key does not tell how the
    answer came there. The looks are those of one source, the model or the ideal.
    """
    at = {(look.layer, look.position): look for look in looks}
    layers = 1 + max(look.layer for look in looks)
    brought = {path[-1]: -1}
    for position in path[-2::-1]:
        read = [at[layer, position].token == answer for layer in range(layers)]
        if not read[-1]:
            continue  # it never comes
        first = max((layer + 1 for layer in range(layers) if not read[layer]), default=0)
        for layer in range(first, -1, -1):
            key = at[layer, position].key
            readable = layer > 0 and at[layer - 1, key].token == answer
            if key != position and (readable or brought.get(key, layer) < layer):
                brought[position] = layer
                break
    del brought[path[-1]]
    return brought


def page_data(results: Results) -> dict[str, Any]:
    """The examples with their attention, nested by layer, head and query: smaller than the tables."""
    attention, contents = results["attention"], results["contents"]
    return {
        "examples": [
            {
                "hops": row.hops,
                "tokens": row.tokens.split(),
                "path": [int(position) for position in row.path.split()],
                "target": row.target,
                "answer": row.answer,
                "predicted": row.predicted,
                "attention": _nested(attention[attention["example"] == row.example], "query", "attention"),
                "content_by_position": _nested(contents[contents["example"] == row.example], "content", "logit"),
            }
            for row in results.rows("examples", Example)
        ]
    }


def _nested(frame: Any, line: str, value: str) -> list[list[list[list[float]]]]:
    """A column by layer, head and line."""
    return [
        [[values.tolist() for _, values in of_head.groupby(line)[value]] for _, of_head in of_layer.groupby("head")]
        for _, of_layer in frame.groupby("layer")
    ]


def _rounded(values: Tensor) -> Float[np.ndarray, "..."]:
    """Rounded in float64, for short text; adding 0 turns -0 into 0."""
    return np.round(values.numpy(force=True).astype(np.float64), DECIMALS) + 0.0
