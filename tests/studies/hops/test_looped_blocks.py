from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.hops.looped_blocks import looped_answers, stretches
from whatwhere.tasks import LetterTask

TASK = LetterTask()


def unrolled(model: GPTJ, first: int, last: int, loops: int) -> GPTJ:
    """A deeper model with copies of the looped blocks in their place."""
    order = list(range(model.config.layers))
    order[last + 1 : last + 1] = list(range(first, last + 1)) * loops
    deep = GPTJ(replace(model.config, layers=len(order)))
    weights = model.state_dict()
    made = {name: value for name, value in weights.items() if not name.startswith("blocks.")}
    for place, block in enumerate(order):
        prefix = f"blocks.{block}."
        made |= {
            f"blocks.{place}.{name.removeprefix(prefix)}": value
            for name, value in weights.items()
            if name.startswith(prefix)
        }
    deep.load_state_dict(made)
    return deep


@pytest.mark.parametrize("stretch", [(0, 0), (2, 2), (0, 1), (1, 2), (0, 2)])
def test_a_loop_is_a_deeper_model_whose_blocks_are_the_same(tiny, stretch: tuple[int, int]) -> None:
    model, tokens = tiny(TASK), TASK.sample(40).tokens
    found = list(looped_answers(model, tokens, 3, [stretch]))
    assert [(blocks, loops) for blocks, loops, _ in found] == [(stretch, 1), (stretch, 2), (stretch, 3)]
    for _, loops, given in found:
        assert np.array_equal(given, unrolled(model, *stretch, loops).predict(tokens))
    assert not np.array_equal(found[-1][2], model.predict(tokens)), "the loop changes something"


def test_every_block_and_every_third_is_looped() -> None:
    assert stretches(6) == [*((block, block) for block in range(6)), (0, 1), (2, 3), (4, 5)]
    assert stretches(2) == [(0, 0), (1, 1)]
    assert stretches(1) == [(0, 0)]


def test_no_loop_gives_nothing(tiny) -> None:
    assert list(looped_answers(tiny(TASK), TASK.sample(4).tokens, 0)) == []
