from __future__ import annotations

import numpy as np

from whatwhere.studies.mechanism.probe import addresses, decode, pointers
from whatwhere.tasks import LetterTask, NumberTask


def test_a_linear_code_is_decoded_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 6, 400)
    code = rng.normal(size=(6, 16))[classes] + rng.normal(size=(400, 16)) * 0.1 + 5
    assert (decode(code[:200], classes[:200], code[200:]) == classes[200:]).mean() > 0.98
    noise = rng.normal(size=(400, 16))
    assert (decode(noise[:200], classes[:200], noise[200:]) == classes[200:]).mean() < 0.35


def test_addresses_are_distances_or_left_letters() -> None:
    number, letter = NumberTask().sample(20, hops=4, seed=0), LetterTask().sample(20, hops=4, seed=0)
    vocabulary = NumberTask().vocabulary
    assert (addresses(number, vocabulary, 1) == vocabulary.value(number.tokens[:, -1])).all()
    assert (addresses(number, vocabulary, 4) == 16 - number.paths[:, 4]).all()
    pairs = LetterTask().vocabulary
    assert (addresses(letter, pairs, 1) == pairs.right(letter.tokens[:, -1])).all()
    assert (addresses(letter, pairs, 4) == pairs.left(letter.answers)).all()


def test_pointers_are_found_in_the_layer_that_holds_them() -> None:
    task = LetterTask()
    batch = task.sample(400, hops=3, seed=0)
    depths = [np.eye(8)[addresses(batch, task.vocabulary, 1 + min(depth, 2))] for depth in range(4)]
    rows = {(row.layer, row.ahead): row for row in pointers(np.stack(depths), batch, task.vocabulary)}
    assert rows[-1, 1].share == rows[0, 2].share == rows[1, 3].share == rows[2, 3].share == 1
    assert rows[-1, 2].share < 0.4
    assert rows[0, 1].share < 0.4
    assert all(row.count == 200 and row.low <= row.share <= row.high and row.guess < 0.3 for row in rows.values())
