from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.growth import corpus
from whatwhere.studies.growth.corpus import library_fingerprint, library_text, make_corpus


def test_what_is_held_out_is_the_end_of_the_text_and_no_part_of_the_training(prose: Path) -> None:
    text = prose.read_text()
    made = make_corpus([text], 300, 16)
    whole = np.concatenate([made.train, made.held_out])
    assert len(made.held_out) == pytest.approx(0.05 * len(whole), abs=16)
    assert whole.max() < made.vocabulary <= 300
    batches = np.concatenate([made.batch(64, 16, seed=0, step=step) for step in range(200)])
    last = made.train[-16:]
    assert (batches == last).all(1).any(), "the last training window is reached"
    windows = np.lib.stride_tricks.sliding_window_view(made.train, 16)
    assert all((windows == row).all(1).any() for row in batches[:20])


def test_a_batch_follows_from_seed_and_step(prose: Path) -> None:
    made = make_corpus([prose.read_text()], 300, 16)
    assert np.array_equal(made.batch(4, 16, 1, 7), made.batch(4, 16, 1, 7))
    assert not np.array_equal(made.batch(4, 16, 1, 7), made.batch(4, 16, 1, 8))
    assert not np.array_equal(made.batch(4, 16, 1, 7), made.batch(4, 16, 2, 7))


def test_a_text_shorter_than_two_windows_is_refused() -> None:
    with pytest.raises(WhatwhereError, match="expected a text of at least 128 tokens"):
        make_corpus(["one two three"], 300, 64)


@pytest.mark.slow
def test_the_documentation_of_the_library_is_there_and_another_text_has_another_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = library_text()
    assert sum(map(len, texts)) > 1_000_000
    assert any("The standard type hierarchy" in text for text in texts)
    name = library_fingerprint()
    assert name.startswith("sha256:")
    monkeypatch.setattr(corpus, "library_text", lambda: tuple(texts))
    assert library_fingerprint() == name
    monkeypatch.setattr(corpus, "library_text", lambda: texts[:-1])
    assert library_fingerprint() != name
