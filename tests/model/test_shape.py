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
        ({"layers": 0}, "layers must be a whole number above 0, not 0"),
        ({"heads": 3}, "multiple of heads"),
        ({"rotary_dim": 7}, "rotary_dim must be even"),
        ({"rotary_dim": 256}, "between 0 and the head's width 128"),
        ({"rope_base": 0.0}, "rope_base must be above 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"init_std": -1.0}, "init_std must not be negative"),
        ({"closed_planes": ((1,),)}, "for each of the 12 layers"),
        ({"closed_planes": ((65,),) + ((),) * 11}, "IDs run from 1 to 64"),
    ],
)
def test_impossible_shapes_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        ModelConfig(**{"vocab_size": 136, **changes})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"vocab_size": 5, "wings": 2}, "unknown field 'wings'"),
        ({"layers": 2}, "lacks 'vocab_size'"),
        ({"vocab_size": 5, "closed_planes": 3}, "closed_planes of .* should be a list, and 3 arrived"),
        ({"vocab_size": True}, "vocab_size of .* should be a whole number, and True arrived"),
    ],
)
def test_a_damaged_configuration_is_refused(content: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        ModelConfig.from_dict(content)
