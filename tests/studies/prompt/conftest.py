"""Small settings, and models that are made up or tiny."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, tiny_model

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.prompt import PROMPT
from whatwhere.studies.prompt.tables import About, Forecast, KeyHead, LengthRow, PromptSettings, Without
from whatwhere.studies.results import Results
from whatwhere.trace.rotary import RotaryModel


@pytest.fixture(scope="session")
def speller() -> Any:
    """One token per character."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words: Any = Tokenizer(models.WordLevel({chr(i): i for i in range(128)}, unk_token="\0"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="\0")


@pytest.fixture(scope="session")
def tiny(speller: Any) -> RotaryModel:
    """Two layers of four heads that read characters."""
    llama = FAMILIES["Llama"]
    llama = replace(llama, settings={**llama.settings, "vocab_size": 128, "max_position_embeddings": 1024})
    return RotaryModel(tiny_model(llama, attention="sdpa"), "models/tiny", speller)


@pytest.fixture
def small(tmp_path: Path) -> PromptSettings:
    """Prompts of some hundred characters."""
    text = tmp_path / "letters.txt"
    text.write_text("abcdefghij" * 60)
    return PROMPT.with_settings(
        text=(str(text),), lengths=(110, 120, 130), check=(150, 170), prompts=3, checked=2, heads=2
    )


@pytest.fixture
def made_up() -> Callable[..., Results]:
    """Results with a given forecast and a given failure."""

    def make(predicted: float = 900.0, measured: float = 1000.0, off: float = 0.15, *, able: bool = True) -> Results:
        results = Results(PROMPT, PROMPT.with_settings(text=("sha256:0",)), "models/made-up")
        rows = [
            LengthRow(128, True, Estimate(4, 3, 5, 8), Estimate(1, 0.7, 1, 8), Estimate(0.5, 0.4, 0.6, 8)),
            LengthRow(256, True, Estimate(3, 2, 4, 8), Estimate(1, 0.7, 1, 8), Estimate(0.4, 0.3, 0.5, 8)),
            LengthRow(2048, False, Estimate(-1, -2, 0, 4), Estimate(0.25, 0.1, 0.6, 4), Estimate(nan, nan, nan, 0)),
        ]
        results.write("lengths", rows)
        ends = Estimate(predicted, predicted / 2, nan, 8)
        results.write("forecasts", [Forecast(rule, ends, -1.0, off) for rule in ("margin", "attention")])
        labels = ("symbolic", "symbolic", "mixed")
        results.write("heads", [KeyHead(at, 1, 0.5, 0.1, 0.9, label) for at, label in enumerate(labels)])
        margins = {"none": 4.0, "followed": -2.0, "others": 3.5}
        found = Estimate(1, 0.7, 1, 8)
        results.write("without", [Without(w, 3, Estimate(m, m - 0.5, m + 0.5, 8), found) for w, m in margins.items()])
        results.write("about", [About("Llama", "a.txt", "", able, measured, 2048)])
        return results

    return make
