"""Information flow on one input (Figure 3): where each position looks in each layer, and when the answer stands there.

Beside the trained model stands the paper's ideal: Index or Retrieval for as many layers as the input has hops, then
Reflexive (Section 3.2), with the same rows and columns. With fewer layers than hops it does not get to the answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from whatwhere.errors import WhatwhereError
from whatwhere.heads.roles import goal_role, goals
from whatwhere.model.gptj import GPTJ
from whatwhere.store.storage import read_json, write_json
from whatwhere.studies.mechanism.observation import observe
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.functions import index, reflexive, retrieval
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary, Vocabulary


@dataclass(frozen=True)
class Look:
    """Where one position looks in one layer, and what can be read there afterwards."""

    layer: int
    position: int
    key: int
    """The position that it looks at most."""
    weight: float
    """Its share of the attention."""
    head: int
    """The head that pays it, the one with the sharpest look if a layer has several."""
    token: str
    """What can be read afterwards: the likeliest token in the model's unembedding; the token itself for the ideal."""
    chance: float
    """The probability that the unembedding gives it; 1 for the ideal."""
    function: str
    """For the ideal: ``index``, ``retrieval`` or ``reflexive``; empty for a trained model."""


@dataclass(frozen=True)
class Flow:
    """One input with its flow through a trained model and through the ideal functions."""

    task: str
    tokens: tuple[str, ...]
    target: int
    """Tokens before the first pointer window."""
    path: tuple[int, ...]
    """From the last position to that of the answer."""
    answer: str
    predicted: str
    trained: tuple[Look, ...]
    ideal: tuple[Look, ...]

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return 1 + max(look.layer for look in self.trained)

    def save(self, path: Path, owner: str = "") -> None:
        """Writes it as JSON; ``owner`` names the results that it is part of."""
        write_json(path, asdict(self), owner)

    @classmethod
    def read(cls, path: Path, owner: str = "") -> Flow:
        """The inverse of :meth:`save`.

        Raises:
            WhatwhereError: there is no such file, or it is damaged.
        """
        content: dict[str, Any] = read_json(path, "the information flow", owner)
        try:
            for name in ("trained", "ideal"):
                content[name] = tuple(Look(**look) for look in content[name])
            for name in ("tokens", "path"):
                content[name] = tuple(content[name])
            return cls(**content)
        except (KeyError, TypeError) as error:
            raise WhatwhereError(f"{path} is not an information flow ({error}); measure it anew.") from error


def flow(model: GPTJ, task: Task, batch: Batch) -> Flow:
    """Follows the first input of a batch through the model and through the ideal functions."""
    tokens = batch.tokens[:1]
    names = task.vocabulary.names
    hops = int(batch.hops[0])
    layers = model.config.layers
    return Flow(
        task=task.name,
        tokens=tuple(names[token] for token in tokens[0]),
        target=int(task.vocabulary.points(tokens[0]).argmax()),
        path=tuple(int(position) for position in batch.paths[0, : hops + 1]),
        answer=names[batch.answers[0]],
        predicted=names[model.predict(tokens)[0]],
        trained=_trained(model, tokens, names),
        ideal=_ideal(tokens, task.vocabulary, hops, layers),
    )


def _trained(model: GPTJ, tokens: Int[np.ndarray, "1 seq"], names: tuple[str, ...]) -> tuple[Look, ...]:
    seen = observe(model, tokens)
    looks = []
    for layer in range(seen.layers):
        for position in range(tokens.shape[1]):
            weight = seen.weight[layer, 0, :, position]  # [head]
            head = int(weight.argmax())
            key = int(seen.strongest[layer, 0, head, position])
            token = names[seen.readable[layer + 1, 0, position]]
            chance = float(seen.chance[layer + 1, 0, position])
            looks.append(Look(layer, position, key, float(weight[head]), head, token, chance, ""))
    return tuple(looks)


def _ideal(tokens: Int[np.ndarray, "1 seq"], vocabulary: Vocabulary, hops: int, layers: int) -> tuple[Look, ...]:
    # Retrieval leaves several copies of a token, all of them right; where the input points there is always one of them.
    there = goals(tokens, vocabulary)[0]
    looks = []
    for layer in range(layers):
        acts = layer < hops
        moving = vocabulary.points(tokens[0]) & (there >= 0) & acts
        tokens = apply_goal(tokens, vocabulary) if acts else reflexive(tokens)
        function = goal_role(vocabulary) if acts else "reflexive"
        for position, token in enumerate(tokens[0]):
            key = int(there[position]) if moving[position] else position
            looks.append(Look(layer, position, key, 1.0, 0, vocabulary.names[token], 1.0, function))
    return tuple(looks)


def carriers(flow: Flow, looks: tuple[Look, ...]) -> dict[int, int]:
    """For each pointer of the path, the layer whose look can have brought the answer there.

    It is the latest layer, up to the one after which the answer can be read there for good, that looks at a position to
    which the answer had been brought before, or where it could be read before. (That may be off the path: other tokens
    can lead to the same answer.) Pointers without such a look are left out: the strongest key does not tell how the
    answer came there.
    """
    at = {(look.layer, look.position): look for look in looks}
    brought = {flow.path[-1]: -1}
    for position in flow.path[-2::-1]:
        read = [at[layer, position].token == flow.answer for layer in range(flow.layers)]
        if not read[-1]:
            continue  # it never comes
        arrival = max((layer + 1 for layer in range(flow.layers) if not read[layer]), default=0)
        for layer in range(arrival, -1, -1):
            key = at[layer, position].key
            readable = layer > 0 and at[layer - 1, key].token == flow.answer
            if key != position and (readable or brought.get(key, layer) < layer):
                brought[position] = layer
                break
    del brought[flow.path[-1]]
    return brought


def apply_goal(tokens: Int[np.ndarray, "n seq"], vocabulary: Vocabulary) -> Int[np.ndarray, "n seq"]:
    """One layer of the ideal model: Index on numbers, Retrieval on pairs."""
    if isinstance(vocabulary, NumberVocabulary):
        return index(tokens, vocabulary)
    assert isinstance(vocabulary, LetterVocabulary)
    return retrieval(tokens, vocabulary)
