"""The study on a tiny model: margins by hand, ablation, resuming, and mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.studies.measuring import study
from whatwhere.studies.prompt import PROMPT, measure
from whatwhere.studies.prompt.measure import answer_margins, filler_of, prompts_of
from whatwhere.studies.prompt.tables import PromptSettings
from whatwhere.trace.rotary import RotaryModel


def options(settings: PromptSettings, **changed: Any) -> dict[str, Any]:
    names = ("text", "lengths", "check", "prompts", "checked", "heads")
    return {name: getattr(settings, name) for name in names} | changed


def test_a_margin_is_that_of_the_models_own_logits(tiny: RotaryModel, small: PromptSettings):
    prompts = list(prompts_of(tiny, filler_of(tiny, small), 120, 3, small).values())
    found = answer_margins(tiny, prompts)
    for prompt, margin in zip(prompts, found, strict=True):
        with torch.no_grad():
            logits = tiny.model(prompt.ids).logits[0]
        leads = []
        for place in range(120 - prompt.answer, 120):
            row, wanted = logits[place - 1].tolist(), int(prompt.ids[0, place])
            leads.append(row[wanted] - max(value for token, value in enumerate(row) if token != wanted))
        assert margin == pytest.approx(min(leads), abs=1e-5)


def test_ablated_heads_write_their_mean_over_the_prompts(tiny: RotaryModel, small: PromptSettings):
    prompts = list(prompts_of(tiny, filler_of(tiny, small), 120, 3, small).values())
    changed = ww.run(tiny, torch.cat([prompt.ids for prompt in prompts]), ablate=[(1, 2)])
    wanted = prompts[1].ids[0, -6:]
    asked = changed[1, -7:-1]
    best = asked.scatter(1, wanted[:, None], -torch.inf).amax(1)
    right = asked.gather(1, wanted[:, None])[:, 0]
    assert answer_margins(tiny, prompts, [(1, 2)])[1] == pytest.approx(float((right - best).min()), abs=1e-5)


def test_prompts_keep_key_and_text_at_every_length(tiny: RotaryModel, small: PromptSettings):
    stream = filler_of(tiny, small)
    short, long = (prompts_of(tiny, stream, length, count, small) for length, count in ((110, 3), (170, 2)))
    assert list(short) == [0, 1, 2] and list(long) == [0, 2]
    for number, prompt in long.items():
        assert prompt.ids.shape == (1, 170)
        assert torch.equal(prompt.ids[0, -6:], short[number].ids[0, -6:])
        assert prompt.ids[0, 0] == short[number].ids[0, 0]


def test_the_tables_hold_each_length_and_an_interrupted_study_goes_on(
    tiny: RotaryModel, small: PromptSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = study("prompt", tiny, **options(small))
    assert whole["lengths"]["length"].tolist() == [110, 120, 130, 150, 170]
    assert whole["answers"].groupby("length").size().tolist() == [3, 3, 3, 2, 2]
    assert int(whole["answers"]["attention"].isna().to_numpy().sum()) == 4  # only short prompts are looked into
    assert whole["without"]["which"].tolist() == ["none", "followed", "others"]
    assert len(whole["heads"]) == 2

    def stop(*given: Any) -> Any:
        if len(given[1]) < 3:
            raise KeyboardInterrupt
        return answer_margins(*given)

    monkeypatch.setattr(measure, "answer_margins", stop)
    with pytest.raises(KeyboardInterrupt):
        study("prompt", tiny, out=tmp_path, **options(small))
    monkeypatch.setattr(measure, "answer_margins", answer_margins)
    monkeypatch.setattr(measure, "find_key_heads", None)  # they are known
    resumed = study("prompt", tiny, out=tmp_path, **options(small))
    assert np.allclose(resumed["answers"]["margin"], whole["answers"]["margin"], rtol=1e-6)
    assert resumed["about"]["able"].tolist() == [False]  # it was never trained
    assert np.isnan(resumed["forecasts"]["length"].to_numpy()).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lengths": (128, 256)}, "expected 3 or more short lengths, got 128, 256"),
        ({"check": (512,)}, "expected lengths to check beyond the short ones, which end at 512, got 512"),
        ({"prompts": 1}, "expected prompts of 2 or more, got 1; raise prompts"),
        ({"heads": 0}, "expected heads of 1 or more, got 0"),
    ],
)
def test_impossible_settings_are_refused(changed: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        PROMPT.with_settings(**changed)


def test_a_model_without_text_or_with_too_little_is_refused(tiny: RotaryModel, small: PromptSettings):
    with pytest.raises(WhatwhereError, match="expected a text, got none"):
        study("prompt", tiny)
    with pytest.raises(WhatwhereError, match="at least 700 tokens for the longest prompt, got 600; give more text"):
        filler_of(tiny, replace(small, check=(700,)))
    with pytest.raises(WhatwhereError, match="expected a language model with its tokenizer, got GPT-J without one"):
        study("prompt", "letter", **options(small))
