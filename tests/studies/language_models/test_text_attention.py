"""Where heads look in a text, against the model's own attention."""

from __future__ import annotations

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from whatwhere.studies.language_models.text_attention import LEAST_SHARE, SHOWN_TOKENS, spell, text_attention
from whatwhere.trace.rotary import RotaryModel


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Every byte is a token."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
    made.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    return PreTrainedTokenizerFast(tokenizer_object=made)


def test_attention_is_the_models_own(tokenizer: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=256, hidden_size=32, intermediate_size=32, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.3,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    model.set_attn_implementation("eager")
    window = torch.randint(0, 256, (SHOWN_TOKENS + 40,))
    found = text_attention(RotaryModel(model), tokenizer, window, [0, 2])
    assert {layer for layer, _ in found.heads} == {0, 2}
    assert len(found.tokens) == SHOWN_TOKENS
    assert found.queries[-1] == SHOWN_TOKENS - 1
    with torch.no_grad():
        own = model(input_ids=window[None], output_attentions=True, use_cache=False).attentions
    assert own is not None
    for (layer, head), by_query in found.heads.items():
        for query, shares in zip(found.queries, by_query, strict=True):
            row = own[layer][0, head, query]
            assert [key for key, _ in shares] == (row >= LEAST_SHARE).nonzero().flatten().tolist()
            assert all(abs(share - float(row[key])) < 6e-4 for key, share in shares)


@pytest.mark.parametrize("text", ["two words", " starts with a space", "héllo 🦊\nnew line", "a  b   c"])
def test_spelled_tokens_join_to_the_text(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer(text)["input_ids"]
    assert isinstance(ids, list)
    tokens = spell(tokenizer, ids)
    assert len(tokens) == len(ids) == len(text.encode())
    assert "".join(tokens) == text
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(tokens)
