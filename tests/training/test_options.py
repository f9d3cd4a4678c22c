import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import make_task
from whatwhere.training.options import LAYERS, PLANES, Options, numbers
from whatwhere.training.presets import PRESETS, preset


@pytest.mark.parametrize("name", PRESETS)
def test_without_a_change_it_is_the_preset(name: str):
    assert Options("number", name, device="cpu").config() == preset(name, make_task("number"))


def test_each_option_changes_its_own_field():
    options = Options(
        "letter", "smoke", 5, lr=0.5, batch=7, device="cpu", threads=1,
        letters=10, max_hops=3, heads=2, layers=3, rope_base=0,
    )  # fmt: skip
    config = options.config()
    assert (config.seed, config.model.heads, config.model.layers, config.model.rope_base) == (5, 2, 3, None)
    assert (config.schedule.peak, config.batch, config.threads) == (0.5, 7, 1)
    assert config.task == make_task("letter", letters=10, max_hops=3)
    assert config.model.vocab_size == config.task.vocab_size
    closed = Options("letter", "smoke", close="2,4-5").config()
    assert closed.model.closed_planes == ((2, 4, 5), (2, 4, 5))


def test_a_penalty_its_layers_and_offsets_are_options():
    config = Options("both", "smoke", penalty=0.5, penalty_layers="0-1", offsets=4, d_mlp=48, letters=7).config()
    assert (config.penalty, config.penalty_layers, config.offsets, config.model.d_mlp) == (0.5, (0, 1), 4, 48)
    assert config.task == make_task("both", letters=7)


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1"])
def test_other_names_of_layers_are_refused(text: str):
    with pytest.raises(WhatwhereError, match="expected layers from 0, such as 0-3, got"):
        numbers(text, *LAYERS)


def test_planes_are_named_one_by_one_or_from_to():
    assert numbers("1-3,20,2", *PLANES) == (1, 2, 3, 20)


@pytest.mark.parametrize("text", ["", "a", "0", "3-1", "1-", "-1", "1,,2", "1-99999999999"])
def test_other_names_of_planes_are_refused(text: str):
    with pytest.raises(WhatwhereError, match="expected planes by their IDs from 1, such as 1-8,20"):
        numbers(text, *PLANES)


def test_a_plane_that_a_head_does_not_have_is_refused():
    with pytest.raises(WhatwhereError, match="closed_planes with IDs from 1 to 64, got 65"):
        Options("number", close="65").config()


def test_a_parameter_of_another_task_is_refused():
    with pytest.raises(WhatwhereError, match=r"expected parameters of the letter task .*, got 'symbols'"):
        Options("letter", symbols=60).config()
