"""The heads that look at the key when it is asked for: what they attend to, and how positional or symbolic they are.

When token t of the key is to be given, a head that finds it attends to that token in the sentence that tells the key,
as the retrieval heads of Wu et al. (2024) do. The sentence tells it twice, and both places count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whatwhere.heads.purity import label_of
from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import Weighting
from whatwhere.studies.cache.passkey import PasskeyPrompt
from whatwhere.studies.prompt.tables import KeyHead
from whatwhere.trace.interventions import Head
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.rotary import RotaryModel


def key_places(prompt: PasskeyPrompt) -> Bool[Tensor, "answer seq"]:
    """For each token of the answer, where the sentence tells it; its whole sentence, if it is tokenised otherwise."""
    ids = prompt.ids[0].tolist()
    answer = ids[-prompt.answer :]
    places = torch.zeros(prompt.answer, len(ids), dtype=torch.bool)
    for start in range(prompt.place, prompt.place + prompt.told - prompt.answer + 1):
        if ids[start : start + prompt.answer] == answer:
            places[torch.arange(prompt.answer), start + torch.arange(prompt.answer)] = True
    if not bool(places.any()):
        places[:, prompt.place : prompt.place + prompt.told] = True
    return places


def answering(prompt: PasskeyPrompt) -> list[int]:
    """The positions from which the answer is given."""
    end = prompt.ids.shape[1]
    return list(range(end - prompt.answer - 1, end - 1))


def attention_to_keys(
    model: RotaryModel, prompts: Sequence[PasskeyPrompt], heads: Sequence[Head]
) -> Float[np.ndarray, "prompt"]:
    """The attention of some heads to the key, prompt by prompt; mean over these heads."""
    layers = sorted({layer for layer, _ in heads})
    found = []
    for prompt in prompts:
        looks = dict(zip(layers, _looks(model, prompt, layers, scored=False), strict=True))
        found.append(np.mean([float(looks[layer][0, head]) for layer, head in heads]))
    return np.array(found)


def find_key_heads(model: RotaryModel, prompts: Sequence[PasskeyPrompt], count: int) -> list[KeyHead]:
    """The heads that look at the key most, with their scores at the same queries."""
    layers = list(model.attending)
    found = torch.stack([torch.stack(_looks(model, prompt, layers, scored=True), 1) for prompt in prompts])
    mass, both = found[:, 0].mean(0), found[:, 1:].nanmean(0)  # [layer, head], [2, layer, head]
    rows = []
    for at in mass.flatten().argsort(descending=True)[:count].tolist():
        index, head = divmod(at, mass.shape[1])
        positional, symbolic = both[:, index, head].tolist()
        rows.append(
            KeyHead(layers[index], head, float(mass[index, head]), positional, symbolic, label_of(positional, symbolic))
        )
    return rows


@torch.no_grad()
def _looks(
    model: RotaryModel, prompt: PasskeyPrompt, layers: Sequence[int], *, scored: bool
) -> list[Float[Tensor, "number head"]]:
    """Of each layer the attention to the key, then, if asked for, both scores."""
    places = key_places(prompt)

    def reduce(layer: LayerTrace) -> Float[Tensor, "number head"]:
        attention = layer.attention()[0].double()  # [head, query, key]
        mass = (attention * places.to(attention.device)).sum(-1).mean(-1)
        scores = score_weightings(Trace((layer,)), [Weighting()]) if scored else []
        both = [x[0].to(mass) for one in scores for x in (one.positional, one.symbolic)]
        return torch.stack([mass, *both]).cpu()

    return model.stream(prompt.ids, reduce, layers=layers, queries=answering(prompt))
