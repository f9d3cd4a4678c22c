from typing import Any

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig


@pytest.mark.parametrize(("vocabulary", "parameters"), [(136, 2_405_256), (128, 2_403_200)])
def test_the_papers_models_have_as_many_parameters_as_they_should(vocabulary: int, parameters: int):
    config = ModelConfig(vocabulary)
    assert config.parameters == parameters
    assert sum(parameter.numel() for parameter in GPTJ(config).parameters()) == parameters


def test_a_configuration_survives_json():
    config = ModelConfig(20, layers=2, heads=2, d_model=8, rope_base=None, closed_planes=((1, 2), ()))
    assert ModelConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 0}, "expected layers as a whole number above 0, got 0"),
        ({"heads": 3}, "multiple of heads"),
        ({"rotary_dim": 7}, "expected an even rotary_dim"),
        ({"rotary_dim": 256}, "between 0 and the head's width 128"),
        ({"rope_base": 0.0}, "expected a rope_base above 0"),
        ({"dropout": 1.0}, "expected dropout of at least 0 and below 1"),
        ({"attention_dropout": -0.1}, "expected attention_dropout of at least 0"),
        ({"activation": "relu"}, "expected an activation of gelu, gelu_tanh, got 'relu'"),
        ({"nope_from": 13}, "expected nope_from between 0 and 12"),
        ({"init_std": -1.0}, "expected init_std of at least 0"),
        ({"closed_planes": ((1,),)}, "for each of the 12 layers"),
        ({"closed_planes": ((65,),) + ((),) * 11}, "IDs from 1 to 64, got 65"),
    ],
)
def test_impossible_shapes_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        ModelConfig(**{"vocab_size": 136, **changes})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"vocab_size": 5, "wings": 2}, "expected the fields .*, got 'wings'"),
        ({"layers": 2}, "expected the field 'vocab_size', got none"),
        ({"vocab_size": 5, "closed_planes": 3}, "closed_planes: expected a valid array, got 3"),
        ({"vocab_size": True}, "vocab_size: expected a valid integer, got True"),
    ],
)
def test_a_damaged_configuration_is_refused(content: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        ModelConfig.from_dict(content)
