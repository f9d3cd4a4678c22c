from __future__ import annotations

import numpy as np

from whatwhere.studies.mechanism.readout import linear_probe, pointers
from whatwhere.tasks import LetterTask


def test_a_linear_code_is_decoded_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 6, 400)
    code = rng.normal(size=(6, 16))[classes] + rng.normal(size=(400, 16)) * 0.1 + 5
    assert (linear_probe(code[:200], classes[:200])(code[200:]) == classes[200:]).mean() > 0.98
    noise = rng.normal(size=(400, 16))
    assert (linear_probe(noise[:200], classes[:200])(noise[200:]) == classes[200:]).mean() < 0.35


def test_pointers_are_found_in_the_layer_that_holds_them() -> None:
    task = LetterTask()
    batch = task.sample(400, hops=3, seed=0)
    rows = np.arange(len(batch))
    addresses = [task.whole.left(batch.tokens[rows, batch.paths[:, ahead]]) for ahead in (1, 2, 3)]
    depths = [np.eye(8)[addresses[min(depth, 2)]] for depth in range(4)]
    found = {(row.layer, row.ahead): row for row in pointers(np.stack(depths), batch, task.vocabulary)}
    assert (
        found[None, 1].share.value == found[0, 2].share.value == found[1, 3].share.value == found[2, 3].share.value == 1
    )
    assert found[None, 2].share.value < 0.4
    assert found[0, 1].share.value < 0.4
    assert all(row.share.n == 200 and row.guess < 0.3 for row in found.values())
