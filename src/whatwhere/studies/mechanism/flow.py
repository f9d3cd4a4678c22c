"""Information flow on one input (Figure 3): where each position looks in each layer, and when the answer is there.

The trained model is compared with the paper's ideal: Index or Retrieval for as many layers as the input has hops, then
Reflexive (Section 3.2). With fewer layers than hops it does not get to the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.observation import observe
from whatwhere.studies.mechanism.tables import Look
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.functions import follow_pointers, reflexive
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import Vocabulary


def flow(model: GPTJ, task: Task, batch: Batch) -> list[Look]:
    """Follows the first input of a batch through the model and through the ideal functions."""
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
    answer came there.

    Args:
        looks: those of one source, the model or the ideal.
        path: positions from the last token to the answer.
        answer: its token.
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
