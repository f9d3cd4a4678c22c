"""What is asked of a model: the right tokens are asked, and their answers stand in the input."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from whatwhere.errors import WhatwhereError
from whatwhere.studies.causal.probes import COPY, NAMES, PERIODS, Probe, make_probes
from whatwhere.studies.causal.tables import CausalSettings
from whatwhere.studies.chat.one_hop import sequences_in, solve
from whatwhere.studies.language_models.scored_inputs import ScoredInputs

SETTINGS = CausalSettings(text=("sha256:0",), prompts=6, far=5, sizes=(3, 12))


@pytest.fixture(scope="module")
def probes(prompt_tokenizer: Any) -> dict[str, Probe]:
    windows = torch.randint(1, 40, (4, 9), generator=torch.Generator().manual_seed(0))
    windows[:, 0] = 0  # what the tokenizer puts first
    scored = ScoredInputs(windows, [8], len(prompt_tokenizer), "a", True, "<s>", {}, lambda _: [])
    return {probe.name: probe for probe in make_probes(prompt_tokenizer, scored, SETTINGS)}


def test_all_tokens_of_a_text_but_the_first_are_asked(probes: dict[str, Probe]):
    assert probes["text"].asked.tolist() == [[False, *[True] * 8]] * 4
    assert [*probes] == ["text", "induction", "back", "name", "number-3", "number-12", "letter-3", "letter-12"]


def test_every_input_begins_as_a_text_does(probes: dict[str, Probe]):
    assert all((probe.ids[:, 0] == 0).all() for probe in probes.values())
    assert all((probe.ids[:, 1] != 0).all() for probe in probes.values() if probe.name != "induction")


def test_induction_asks_for_the_second_copy(probes: dict[str, Probe]):
    probe = probes["induction"]
    assert probe.ids.shape == (6, 1 + 2 * COPY)
    assert torch.equal(probe.ids[:, 1 : 1 + COPY], probe.ids[:, 1 + COPY :])
    assert probe.asked.tolist() == [[False] * (1 + COPY) + [True] * COPY] * 6


def test_back_is_answered_by_the_token_k_places_back_and_by_no_single_token(probes: dict[str, Probe]):
    probe = probes["back"]
    rates = []
    for number, row in enumerate(probe.ids[:, 1:].tolist()):
        period, asked = PERIODS[number % 2], probe.asked[number, 1:].tolist()
        assert all(row[at] == row[at - period] for at, wanted in enumerate(asked) if wanted)
        follows = {token: {after for one, after in pairwise(row) if one == token} for token in row}
        assert len(follows) == 2 and max(map(len, follows.values())) == 2
        assert all(any(row[at] != row[at - k] for at in range(period, len(row))) for k in range(1, period))
        half = [token for token, wanted in zip(row, asked, strict=True) if wanted]
        rates.append(max(half.count(token) for token in half) / len(half))
    assert probe.chance == pytest.approx(sum(rates) / 6)


def test_a_name_is_told_then_some_text_then_asked_for(probes: dict[str, Probe], prompt_tokenizer: Any):
    probe = probes["name"]
    for number, (row, asked) in enumerate(zip(probe.ids, probe.asked, strict=True)):
        assert prompt_tokenizer.decode(row[asked]) == NAMES[number]
        words = prompt_tokenizer.decode(row).split()
        assert words[:5] == ["<s>", "My", "name", "is", NAMES[number]]
        assert words[-4:] == ["My", "name", "is", NAMES[number]]
        assert row[6:11].tolist() == probes["text"].ids[number % 4, 1:6].tolist()


@pytest.mark.parametrize("name", ["number-3", "number-12", "letter-3", "letter-12"])
def test_one_hop_prompts_ask_for_their_answer_alone(name: str, probes: dict[str, Probe], prompt_tokenizer: Any):
    from whatwhere.studies.chat.one_hop import one_hop_examples

    probe, (task, size) = probes[name], name.split("-")
    for row, real, asked, example in zip(
        probe.ids, probe.real, probe.asked, one_hop_examples(task, int(size), 0, 6), strict=True
    ):
        said = prompt_tokenizer.decode(row[real])
        assert prompt_tokenizer.decode(row[asked]) == example.answer == solve(example.sequence)
        assert said.endswith(f"Output : {example.answer}") and example.sequence in said
        assert not sequences_in(said)  # spaces around quotes: the tokenizer's own


def test_the_loss_is_that_of_the_asked_tokens_and_padding_is_left_out(probes: dict[str, Probe]):
    probe = probes["letter-12"]
    logits = torch.randn(*probe.ids.shape, 900, generator=torch.Generator().manual_seed(1))
    loss, right = probe.score(logits, slice(0, 6))
    for number in range(6):
        places = probe.asked[number].nonzero()[:, 0]
        wanted = probe.ids[number, places]
        assert float(loss[number]) == pytest.approx(float(cross_entropy(logits[number, places - 1], wanted)), rel=1e-5)
    assert right.tolist() == [0] * 6
    best = torch.nn.functional.one_hot(probe.ids.roll(-1, 1), 900).float()
    assert probe.score(best, slice(0, 6))[1].tolist() == [1] * 6
    part = probe.score(logits[2:4], slice(2, 4))[0]
    assert torch.equal(part, loss[2:4])


def test_more_text_than_a_window_has_is_refused_instead_of_cut(prompt_tokenizer: Any):
    windows = torch.zeros(2, 9, dtype=torch.long)
    scored = ScoredInputs(windows, [8], len(prompt_tokenizer), "a", True, "<s>", {}, lambda _: [])
    with pytest.raises(WhatwhereError, match=r"expected far of at most 8, .* got 9; lower far or raise window"):
        make_probes(prompt_tokenizer, scored, CausalSettings(text=("sha256:0",), prompts=2, far=9))
