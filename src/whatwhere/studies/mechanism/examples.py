"""Single inputs to look at: the one of Figures 1 and 3, and a few of each hop class for the page.

For each: its tokens, path and answer, what the model answers, the attention of every head at every position, and for
the last query the content-by-position matrix M of :mod:`whatwhere.trace.layer`. With M anyone can swap two keys and see
where attention goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.paths import as_batch
from whatwhere.studies.mechanism.tables import Attention, Content, Example, MechanismSettings
from whatwhere.studies.results import Results
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
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
    """In float64, so that it prints as short as it is; adding 0 turns -0 into 0."""
    return np.round(values.numpy(force=True).astype(np.float64), DECIMALS) + 0.0
