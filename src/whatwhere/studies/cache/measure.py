"""Scores heads, streams KV heads in several orders, and measures what is lost: on text, and of a pass key.

Rows are written after each run; an interrupted study continues from them. Orders that stream the same heads share runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import mean
from whatwhere.studies.cache.cache_needs import kv_heads, need_rows, pattern_files, score_heads
from whatwhere.studies.cache.passkey import make_prompts
from whatwhere.studies.cache.streamed_runs import (
    StreamedSet,
    can_find_keys,
    comparison_rows,
    policy_rows,
    share_right,
    streamed_sets,
    token_losses,
)
from whatwhere.studies.cache.tables import FULL, About, CacheSettings, HeadScore, Need, PromptAnswer, WindowLoss
from whatwhere.studies.language_models.passages import names_of
from whatwhere.studies.language_models.token_windows import cut_windows, require_text_model
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress

Row = TypeVar("Row", WindowLoss, PromptAnswer)


@dataclass(frozen=True, eq=False)
class CacheTexts:
    """Windows of the texts."""

    scored: Int[Tensor, "scored seq"]
    """On which heads are scored."""
    asked: Int[Tensor, "window seq"]
    """On which losses are measured; they come later in the same texts."""
    names: list[str]
    """The text of each of these."""
    begins: str


def measure(model: Any, settings: CacheSettings, results: Results, progress: Progress) -> None:
    """Measures what the tables do not have yet, for a transformers model with its tokenizer."""
    texts, per_layer = texts_of(model, settings), kv_heads(model)
    group = model.heads // per_layer
    if not results.has("needs"):
        results.write("heads", score_heads(model, texts.scored, settings, progress))
        results.write("needs", need_rows(results.rows("heads", HeadScore), settings))
    heads, needs = results.rows("heads", HeadScore), results.rows("needs", Need)
    if results.manifest is not None:
        for name, content in pattern_files(needs, group, settings, Path(model.name).name).items():
            results.manifest.put(name, content)
    sets = list(streamed_sets(needs, settings))
    prompts = make_prompts(
        list(texts.asked), model.tokenizer, settings.prompts, settings.seed, sink=settings.sink, recent=settings.recent
    )

    def window_loss(one: StreamedSet, number: int) -> WindowLoss:
        start = settings.sink + settings.recent
        found, _ = token_losses(model, texts.asked[number : number + 1], one.masks(group, settings), start)
        return WindowLoss(*one.name, number, texts.names[number], float(found.double().mean()))

    def prompt_answer(one: StreamedSet, number: int) -> PromptAnswer:
        prompt, start = prompts[number], prompts[number].answering[0]
        found, likely = token_losses(model, prompt.ids, one.masks(group, settings), start)
        right = bool((likely.cpu() == prompt.ids[0, start + 1 :]).all())
        return PromptAnswer(*one.name, number, prompt.place, right, float(found.double().mean()))

    work = list(product(sets, range(len(texts.asked))))
    losses = _fill("losses", WindowLoss, window_loss, work, results, progress)
    work = list(product(sets, range(len(prompts))))
    with_full_cache = work[: len(prompts)]
    answers = _fill("answers", PromptAnswer, prompt_answer, with_full_cache, results, progress)
    if can_find_keys(answers):
        answers = _fill("answers", PromptAnswer, prompt_answer, work, results, progress)
    results.write("policies", policy_rows(sets, heads, losses, answers, settings))
    results.write("comparisons", comparison_rows(losses, settings))
    full = [row for row in losses if row.ranking == FULL]
    about = About(
        family=model.family,
        source=names_of(settings.passages),
        begins=texts.begins,
        layers=len(model.attending),
        kv_heads=per_layer,
        group=group,
        tokens=settings.window,
        loss=mean([row.loss for row in full], [row.input for row in full], settings.seed),
        passkey=share_right(row for row in answers if row.ranking == FULL),
    )
    results.write("about", [about])


def texts_of(model: Any, settings: CacheSettings) -> CacheTexts:
    """Windows of each text: the first are for scores, the others for losses.

    Raises:
        WhatwhereError: there is no text, no tokenizer, or a text is too short.
    """
    tokenizer = require_text_model(model, settings).tokenizer
    most = settings.scored + settings.inputs
    cut = [cut_windows([text], tokenizer, tokens=settings.window, windows=most) for text in settings.passages]
    for text, own in zip(settings.passages, cut, strict=True):
        if len(own.ids) < most:
            raise WhatwhereError(
                f"expected at least {most * settings.window:,} tokens in {text.name} ({most} windows of "
                f"{settings.window}), got {own.ids.numel():,}; give a longer text, or lower window or inputs."
            )
    return CacheTexts(
        scored=torch.cat([own.ids[: settings.scored] for own in cut]),
        asked=torch.cat([own.ids[settings.scored :] for own in cut]),
        names=[text.name for text in settings.passages for _ in range(settings.inputs)],
        begins=cut[0].begins,
    )


def _fill(
    table: str, kind: type[Row], make: Callable[[StreamedSet, int], Row], work: Sequence[tuple[StreamedSet, int]],
    results: Results, progress: Progress,
) -> list[Row]:  # fmt: skip
    """Measures the missing rows of each set and input, and writes each at once."""
    rows = results.rows(table, kind)
    known = {(row.ranking, row.draw, row.budget, row.input): row for row in rows}
    same = {(one.streamed, at): known[*one.name, at] for one, at in work if (*one.name, at) in known}
    for done, (one, at) in enumerate(work):
        progress(f"{table}: {one.ranking} at {one.budget:g}", done, len(work))
        if (*one.name, at) in known:
            continue
        same[one.streamed, at] = row = same.get((one.streamed, at)) or make(one, at)
        rows.append(replace(row, ranking=one.ranking, draw=one.draw, budget=one.budget))
        results.write(table, rows)
    return rows
