"""A tokenizer that knows the words of the prompts, and results of a tiny model."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import Any

import pytest
from causal_settings import SMALL
from families import VOCABULARY

from whatwhere.studies.causal.probes import NAMES
from whatwhere.studies.chat.one_hop import TASKS, prompt
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.trace.rotary import RotaryModel


@pytest.fixture(scope="session")
def prompt_tokenizer() -> Any:
    """A token for each word of the prompts, before them ``<s>``."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    texts = [*(prompt(f"one_hop_{task}", "") for task in TASKS), *NAMES, *ascii_lowercase, "My name is ."]
    texts += [f"{letter}{digit}" for letter in ascii_lowercase for digit in range(1, 10)]
    texts += [first + last for first in ascii_lowercase for last in ascii_lowercase] + [str(n) for n in range(30)]
    seen = ["<s>", "w0", *dict.fromkeys(word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text))]
    words: Any = Tokenizer(models.WordLevel({word: at for at, word in enumerate(dict.fromkeys(seen))}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0", bos_token="<s>")


@pytest.fixture(scope="session")
def varied(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A text whose windows differ."""
    path = tmp_path_factory.mktemp("text") / "varied.txt"
    path.write_text(" ".join(f"w{(7 * i + i * i // 5) % VOCABULARY}" for i in range(80)))
    return str(path)


@pytest.fixture(scope="session")
def small(tiny: RotaryModel, varied: str) -> Results:
    return study("causal", tiny, text=(varied,), **SMALL)
