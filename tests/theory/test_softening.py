"""The lemma and the dispersion of softmax, and that their checks can fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whatwhere.theory import softening
from whatwhere.theory.feasibility import sharp_index_head, sharp_retrieval_head
from whatwhere.theory.softening import lemma_holds, softmax_disperses, wanted_weight


def test_the_lemma_holds_on_every_input_of_random_heads() -> None:
    check = lemma_holds(heads=20)
    assert check.passed
    assert check.inputs == 20 * (3**2 + 3**3 + 3**4)


def test_equal_tokens_tie_in_the_heads_that_do_not_look_at_places() -> None:
    tokens = np.array([[0, 1, 1, 2], [2, 2, 0, 1]])
    for places in (True, False):
        logits = softening._logits(softening._random_head(3, places=places), tokens)
        assert (logits[0, 1] == logits[0, 2], logits[1, 0] == logits[1, 1]) == (not places, not places)


def test_a_smaller_temperature_than_the_lemmas_is_seen_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = softening._softmax
    monkeypatch.setattr(softening, "_softmax", lambda head, tokens, beta: plain(head, tokens, beta / 20))
    assert lemma_holds(heads=20).errors > 0


def test_more_attention_off_the_best_keys_than_the_lemma_allows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # With two tokens the bound exp(-beta gap) is nearly reached: 1.6 times as much attention breaks it.
    plain = softening._softmax

    def leaking(head: softening._Head, tokens: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
        weights, decoded = plain(head, tokens, beta)
        return np.where(softening._hard(head, tokens)[0], weights, 1.6 * weights), decoded

    monkeypatch.setattr(softening, "_softmax", leaking)
    assert lemma_holds(heads=20).errors > 20


def test_attention_to_the_wanted_key_falls_with_every_length() -> None:
    check = softmax_disperses()
    assert check.passed
    assert check.inputs == 6 * 7


def test_attention_is_that_of_the_closed_form() -> None:
    index = sharp_index_head(1.0)
    rivals = sum(math.exp(-index.beta * (1 - math.cos(s))) for s in range(-8, 100 - 1 - 8 + 1) if s)
    assert wanted_weight(index, 100, "a", "8", "a") == pytest.approx(1 / (1 + rivals), rel=1e-9)
    match = sharp_retrieval_head(0.0)
    rivals = 98 * math.exp(-match.beta * (1 - math.cos(math.pi / 4))) + math.exp(-match.beta)  # c is two letters away
    assert wanted_weight(match, 100, "b1", "ca", "a1") == pytest.approx(1 / (1 + rivals), rel=1e-9)


def test_a_head_that_sharpens_with_length_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softening, "wanted_weight", lambda _, n, *__: np.log(n) / 10)
    assert softmax_disperses().errors == 6 * 6


def test_the_checks_say_what_they_saw() -> None:
    lemma, dispersion = lemma_holds(20), softmax_disperses()
    assert lemma.found == "at a twentieth of it 162 of 2,340 inputs differ"
    assert dispersion.found == (
        "T_Index at angle 1: 0.50 at 17 tokens, 0.01 at 850; T_Retrieval at angle 0: 0.52 at 17 tokens, 0.02 at 850"
    )


def test_a_hundred_heads_are_tried_of_which_every_other_looks_at_places(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    made = softening._random_head

    def noted(seed: int, *, places: bool) -> softening._Head:
        asked.append((seed, places))
        return made(0, places=places)

    monkeypatch.setattr(softening, "_random_head", noted)
    assert lemma_holds().inputs == 100 * 117
    assert asked == [(seed, seed % 2 == 0) for seed in range(100)]


def test_attention_above_the_bound_for_bounded_logits_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softening, "wanted_weight", lambda _, n, *__: 1.5 - n / 1e6)
    assert softmax_disperses().errors == 6 * 7


def test_hard_attention_shares_what_ties_and_has_no_gap_where_all_do() -> None:
    head = softening._random_head(1, places=False)
    best, gaps, outputs = softening._hard(head, np.array([[1, 1, 1], [0, 1, 2]]))
    assert best[0].all() and np.isinf(gaps[0])
    np.testing.assert_allclose(outputs[0], head.direct[1] + head.copied[1])
    logits = softening._logits(head, np.array([[0, 1, 2]]))[0]
    assert gaps[1] == pytest.approx(np.diff(np.sort(logits))[-1])
    np.testing.assert_allclose(outputs[1], head.direct[2] + head.copied[[0, 1, 2][int(logits.argmax())]])
