"""Texts into windows of tokens, query positions, and tokens as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.passages import Passage
from whatwhere.studies.language_models.token_windows import Windows, cut_windows, query_positions, spell


class Words:
    """A tokenizer that numbers the words of a text, after its first tokens."""

    def __init__(self, first: Sequence[int] = ()) -> None:
        self.first = list(first)

    def __call__(self, text: str, add_special_tokens: bool = True, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": self.first * add_special_tokens + list(range(10, 10 + len(text.split())))}

    def decode(self, ids: list[int]) -> str:
        return " ".join(f"<{number}>" for number in ids)


def cut(texts: str | list[str], tokenizer: Any, tokens: int, windows: int, **options: Any) -> Windows:
    passages = [Passage(f"text {i}", text) for i, text in enumerate([texts] if isinstance(texts, str) else texts)]
    return cut_windows(passages, tokenizer, tokens=tokens, windows=windows, **options)


def test_windows_follow_each_other_and_have_equal_length():
    assert cut("a b c d e f g h", Words(), 3, 5).ids.tolist() == [[10, 11, 12], [13, 14, 15]]
    assert cut("a b c d e f g h", Words(), 3, 1).ids.tolist() == [[10, 11, 12]]
    assert cut("a b c", Words(), 3, 1).ids.dtype == torch.long


def test_a_short_text_is_one_shorter_window():
    assert cut("a b c d", Words(), 100, 5).ids.tolist() == [[10, 11, 12, 13]]


def test_several_texts_give_equally_many_windows_and_the_shortest_sets_the_length():
    found = cut(["a b c d e f g h i j k l", "a b c d e f g h i"], Words(), 4, 3).ids.tolist()
    assert found == [[10, 11, 12, 13], [14, 15, 16, 17], [10, 11, 12, 13]]
    assert cut(["a b c d e f g h i", "a b c"], Words(), 4, 4).ids.tolist() == [[10, 11, 12], [13, 14, 15], [10, 11, 12]]


@pytest.mark.parametrize(("first", "begins"), [([1], "<1>"), ([5, 6], "<5> <6>"), ([], "")])
def test_every_window_begins_as_the_tokenizer_begins_a_text(first: list[int], begins: str):
    found = cut("a b c d", Words(first), len(first) + 2, 5)
    assert found.ids.tolist() == [[*first, 10, 11], [*first, 12, 13]] if first else [[10, 11]]
    assert found.begins == begins


def test_a_chat_template_stands_around_every_window(word_tokenizer: Any):
    word_tokenizer.chat_template = "w1 w2 {{ messages[0]['content'] }} w3{% if add_generation_prompt %} w4{% endif %}"
    try:
        found = cut("w10 w11 w12 w13 w14", word_tokenizer, 6, 5, template=True)
    finally:
        word_tokenizer.chat_template = None
    assert found.ids.tolist() == [[1, 2, 10, 11, 3, 4], [1, 2, 12, 13, 3, 4]]
    assert found.begins == "w1 w2"


def test_a_model_without_a_chat_template_is_refused(word_tokenizer: Any):
    with pytest.raises(WhatwhereError, match="expected a model with a chat template, got none that can be filled"):
        cut("w10 w11 w12", word_tokenizer, 6, 5, template=True)


@pytest.mark.parametrize(("text", "first", "found"), [("a b", [], 2), ("a", [1], 2)])
def test_a_text_of_fewer_than_three_tokens_is_refused(text: str, first: list[int], found: int):
    with pytest.raises(WhatwhereError, match=f"at least 3 tokens .*, got {found} from text 0; give a longer text"):
        cut(text, Words(first), 50, 1)


def test_windows_without_room_for_text_and_fewer_windows_than_texts_are_refused():
    with pytest.raises(WhatwhereError, match="more than the 3 tokens around each text, got 3; raise window"):
        cut("a b c d", Words([1, 2, 3]), 3, 1)
    with pytest.raises(WhatwhereError, match="at least one window for each of 2 texts, got 1; raise inputs"):
        cut(["a b c d", "a b c"], Words(), 3, 1)


def test_query_positions_end_with_the_last_token():
    assert query_positions("last", 10) == [9]
    assert query_positions("all", 5) == [2, 3, 4]
    assert query_positions("3", 100) == [50, 74, 99]
    assert query_positions("1", 100) == [99]
    assert query_positions("50", 6) == [3, 4, 5]
    assert query_positions("2", 3) == [2]


@pytest.mark.parametrize("text", ["two words", " starts with a space", "héllo 🦊\nnew line", "a  b   c"])
def test_spelled_tokens_join_to_the_text(text: str):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made: Any = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))  # every byte
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)
    ids: Any = tokenizer(text)["input_ids"]
    tokens = spell(tokenizer, ids)
    assert len(tokens) == len(ids) == len(text.encode())
    assert "".join(tokens) == text
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(tokens)


def test_a_chat_template_without_the_message_is_refused(word_tokenizer: Any):
    word_tokenizer.chat_template = "w3 w4"
    try:
        with pytest.raises(
            WhatwhereError, match="expected a chat template that holds the user's message, got one without"
        ):
            cut("w10 w11 w12", word_tokenizer, 6, 5, template=True)
    finally:
        word_tokenizer.chat_template = None
