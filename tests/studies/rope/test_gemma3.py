"""A real model that switched off some of its rotary planes: Gemma 3 270M, where its file is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from whatwhere.studies.language_models.token_windows import first_tokens
from whatwhere.studies.measuring import study
from whatwhere.trace.open import load_rotary

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file() -> str:
    named = os.environ.get("WHATWHERE_GEMMA3", "")
    if not Path(named).is_file():
        pytest.skip(
            "Gemma 3 270M comes under Gemma's terms and is not shipped; runs once WHATWHERE_GEMMA3 names its GGUF file "
            "(docs/language_models.md has the commands that fetch it)"
        )
    return named


def test_gemma_3_raises_no_alarm_and_begins_as_its_file_says(file: str):
    model = load_rotary(file)
    assert model.tokenizer.decode(first_tokens(model.tokenizer)) == "<bos>"
    found = study("rope", model)
    assert found["differences"].empty
    layers: Any = found["layers"].set_index("layer")
    assert set(layers["planes"]) == {128} and set(layers["pairing"]) == {"half"}
    full = layers["base"] > 100_000
    assert layers.index[full].tolist() == [5, 11, 17]
