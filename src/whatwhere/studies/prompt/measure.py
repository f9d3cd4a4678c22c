"""Asks for a pass key in prompts of several lengths, and predicts from the short ones where the model fails.

Rows of answers are written after each length; an interrupted study continues from them.

When token t of the key is the next one, a head that finds it attends to that token in the sentence with the key, as the
retrieval heads of Wu et al. (2024) do. The sentence contains the key twice, and both places count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import UNDEFINED, mean, share
from whatwhere.heads.purity import label_of
from whatwhere.heads.scores import score_weightings
from whatwhere.heads.weighting import Weighting
from whatwhere.studies.cache.passkey import PasskeyPrompt, make_prompts
from whatwhere.studies.language_models.passages import names_of
from whatwhere.studies.language_models.token_windows import first_tokens, require_text_model, token_ids
from whatwhere.studies.length.breaks import break_length
from whatwhere.studies.prompt.forecasting import forecasts, nothing_predicted
from whatwhere.studies.prompt.tables import ABLE, About, Answer, KeyHead, LengthRow, PromptSettings, Without
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.trace.interventions import Ablate, Head
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.rotary import RotaryModel

TOKENS_AT_ONCE = 2048
"""Tokens per forward pass; a longer prompt runs alone."""


def measure(model: Any, settings: PromptSettings, results: Results, progress: Progress) -> None:
    """Finds the heads that attend to the key, then asks at each length that the table does not have."""
    stream = filler_of(model, settings)
    short, shortest = sorted(set(settings.lengths)), min(settings.lengths)
    plan = [(length, settings.prompts) for length in short]
    plan += [(length, settings.checked) for length in sorted(set(settings.check))]
    if not results.has("without"):
        progress("which heads look at the key", 0, len(plan))
        first = list(prompts_of(model, stream, shortest, settings.prompts, settings).values())
        results.write("heads", find_key_heads(model, first, settings.heads))
        results.write("without", _without(model, first, results.rows("heads", KeyHead), settings))
    heads = [(row.layer, row.head) for row in results.rows("heads", KeyHead)]
    answers = results.rows("answers", Answer)
    for done, (length, count) in enumerate(plan):
        progress(f"prompts of {length:,} tokens", done, len(plan))
        if any(row.length == length for row in answers):
            continue
        numbered = prompts_of(model, stream, length, count, settings)
        prompts = list(numbered.values())
        margins = answer_margins(model, prompts)
        looks = attention_to_keys(model, prompts, heads) if length in short else np.full(len(prompts), np.nan)
        answers += [
            Answer(length, number, prompt.place, float(margin), bool(margin > 0), float(look))
            for (number, prompt), margin, look in zip(numbered.items(), margins, looks, strict=True)
        ]
        results.write("answers", answers)
    _conclude(model, answers, settings, results)
    progress("lengths asked", len(plan), len(plan))


def _conclude(model: RotaryModel, answers: Sequence[Answer], settings: PromptSettings, results: Results) -> None:
    rows = [_length_row(length, answers, settings) for length in sorted({row.length for row in answers})]
    measured, longest = break_length([(row.length, row.right.value) for row in rows], ABLE), rows[-1].length
    able = rows[0].right.value >= ABLE
    predicted = nothing_predicted()
    if able:
        short = [row for row in answers if row.length in settings.lengths]
        predicted = forecasts(short, measured, longest, checked=bool(settings.check), seed=settings.seed)
    results.write("lengths", rows)
    results.write("forecasts", predicted)
    begins = str(model.tokenizer.decode(first_tokens(model.tokenizer)))
    results.write("about", [About(model.family, names_of(settings.passages), begins, able, measured, longest)])


def _length_row(length: int, answers: Sequence[Answer], settings: PromptSettings) -> LengthRow:
    own = [row for row in answers if row.length == length]
    short = length in settings.lengths
    margin = mean([row.margin for row in own], seed=settings.seed)
    attention = mean([row.attention for row in own], seed=settings.seed) if short else UNDEFINED
    return LengthRow(length, short, margin, share(sum(row.right for row in own), len(own)), attention)


def filler_of(model: Any, settings: PromptSettings) -> list[int]:
    """The tokens of all texts, one after another.

    Raises:
        WhatwhereError: there is no text, no tokenizer, or there are too few tokens.
    """
    tokenizer = require_text_model(model, settings).tokenizer
    stream = [token for passage in settings.passages for token in token_ids(tokenizer, passage.text)]
    if len(stream) < settings.longest:
        raise WhatwhereError(
            f"expected texts of at least {settings.longest:,} tokens for the longest prompt, got {len(stream):,}; give "
            "more text, or lower check."
        )
    return stream


def prompts_of(
    model: RotaryModel, stream: Sequence[int], length: int, count: int, settings: PromptSettings
) -> dict[int, PasskeyPrompt]:
    """Prompts of one length by their number: it stands for the same key and the same place in the texts at each length.

    Where fewer are asked for, they are spread over all.
    """
    first = first_tokens(model.tokenizer)
    starts = np.linspace(0, len(stream) - settings.longest, settings.prompts).astype(int)
    windows = [torch.tensor([*first, *stream[start : start + length]][:length]) for start in starts]
    made = make_prompts(windows, model.tokenizer, settings.prompts, settings.seed)
    chosen = np.linspace(0, len(made) - 1, min(count, len(made))).round().astype(int)
    return {int(at): made[at] for at in chosen}


def answer_margins(
    model: RotaryModel, prompts: Sequence[PasskeyPrompt], ablated: Sequence[Head] = ()
) -> Float[np.ndarray, "prompt"]:
    """The least margin of each answer, with what some heads write replaced by its mean over prompts of one length."""
    size = len(prompts) if ablated else max(1, TOKENS_AT_ONCE // prompts[0].ids.shape[1])
    found = []
    for start in range(0, len(prompts), size):
        some = prompts[start : start + size]
        ids = torch.cat([prompt.ids for prompt in some])
        last = max(prompt.answer for prompt in some) + 1
        changes = [Ablate(layer, head) for layer, head in ablated]
        logits = model.run(ids, interventions=changes, last=last)
        found += [_margin(each, prompt) for each, prompt in zip(logits, some, strict=True)]
    return np.array(found)


def _margin(logits: Float[Tensor, "last vocab"], prompt: PasskeyPrompt) -> float:
    asked = logits[-prompt.answer - 1 : -1].double().cpu()  # [answer, vocab]
    wanted = prompt.ids[0, -prompt.answer :, None].cpu()
    right = asked.gather(1, wanted)
    best = asked.scatter(1, wanted, -torch.inf).amax(1, keepdim=True)
    return float((right - best).min())


def _without(
    model: RotaryModel, prompts: Sequence[PasskeyPrompt], heads: Sequence[KeyHead], settings: PromptSettings
) -> list[Without]:
    """The effect of ablating the followed heads, against as many random others in the same layers."""
    followed = [(row.layer, row.head) for row in heads]
    layers = {layer for layer, _ in followed}
    free = [(layer, head) for layer in sorted(layers) for head in range(model.heads) if (layer, head) not in followed]
    drawn = np.random.default_rng(settings.seed).permutation(len(free))[: len(followed)]
    sets = {"none": [], "followed": followed, "others": [free[at] for at in drawn]}
    rows = []
    for which, some in sets.items():
        margins = answer_margins(model, prompts, some)
        right = share(int((margins > 0).sum()), len(margins))
        rows.append(Without(which, len(some), mean(margins, seed=settings.seed), right))
    return rows


def key_places(prompt: PasskeyPrompt) -> Bool[Tensor, "answer seq"]:
    """For each token of the answer, where the sentence tells it; its whole sentence, if it is tokenised otherwise."""
    ids = prompt.ids[0].tolist()
    answer = ids[-prompt.answer :]
    places = torch.zeros(prompt.answer, len(ids), dtype=torch.bool)
    for start in range(prompt.place, prompt.place + prompt.sentence - prompt.answer + 1):
        if ids[start : start + prompt.answer] == answer:
            places[torch.arange(prompt.answer), start + torch.arange(prompt.answer)] = True
    if not bool(places.any()):
        places[:, prompt.place : prompt.place + prompt.sentence] = True
    return places


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

    return model.stream(prompt.ids, reduce, layers=layers, queries=prompt.answering)
