"""Small settings, a tokenizer that spells, and results that were made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from families import FAMILIES, VOCABULARY, tiny_model

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.cache import CACHE
from whatwhere.studies.cache.tables import About, CacheSettings, Comparison, Need, Policy
from whatwhere.studies.results import Results
from whatwhere.trace.rotary import RotaryModel

BUDGETS = (0.25, 0.5, 0.75)


@pytest.fixture(scope="session")
def tiny() -> RotaryModel:
    """Two layers of four heads; token i is the word ``wi``, and anything else is w1 (w0 is padding: all zeros)."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words: Any = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w1"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w1")
    return RotaryModel(tiny_model(FAMILIES["Llama"]), "models/tiny", tokenizer)


@pytest.fixture
def small(text: str) -> CacheSettings:
    """One window for scores and one for losses; a streamed head keeps one first and four last tokens."""
    return CACHE.with_settings(
        text=(text,), window=30, inputs=1, scored=1, sink=1, recent=4, prompts=2, budgets=(0.25, 0.5), draws=2
    )


@pytest.fixture(scope="session")
def speller() -> Any:
    """One token per character."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words: Any = Tokenizer(models.WordLevel({chr(i): i for i in range(128)}, unk_token="\0"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="\0")


@pytest.fixture
def made_up() -> Callable[..., Results]:
    """Results of four KV heads, with given differences of ``positional`` from other rankings."""

    def make(
        differences: Mapping[str, float] = {}, width: float = 0.01, passkey: float = 1.0, half: float = 1.0,
        *, turned: bool = False,
    ) -> Results:  # fmt: skip
        rankings = ("positional", *differences)
        results = Results(CACHE, CACHE.with_settings(text=("sha256:0",), rankings=rankings), "models/made-up")
        keys = Estimate(passkey, passkey, passkey, 8)
        results.write("about", [About("Llama", "a.txt", "", 2, 2, 3, 512, Estimate(3, 2.9, 3.1, 4), keys)])
        rows = []
        for budget in BUDGETS:
            for other, value in differences.items():
                pair = ("positional", other, value) if not turned else (other, "positional", -value)
                rows.append(Comparison(budget, *pair[:2], Estimate(pair[2], pair[2] - width, pair[2] + width, 4)))
        results.write("comparisons", rows)
        results.write(
            "policies",
            [
                Policy(
                    ranking, budget, round(4 * budget), 1 - budget / 2, Estimate(budget / 10, 0, 0.2, 4),
                    Estimate(half, half, half, 8), Estimate(0.5, 0.4, 0.6, 8),
                )
                for ranking in rankings for budget in BUDGETS
            ],
        )  # fmt: skip
        results.write("needs", [Need(r, 0, at // 2, at % 2, at / 4, at) for r in rankings for at in range(4)])
        return results

    return make
