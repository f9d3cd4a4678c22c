import json
from pathlib import Path

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model, save_model, weights_of
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.store.tensors import save_tensors
from whatwhere.tasks import make_task


def test_a_saved_model_comes_back_with_its_task(tmp_path: Path):
    model = GPTJ(ModelConfig(136, layers=1, d_model=8, d_mlp=8))
    model.task = make_task("number", max_hops=3)
    save_model(tmp_path / "m.safetensors", model, {"step": 5})
    back = load_model(tmp_path / "m.safetensors")
    assert back.config == model.config
    assert back.task == model.task
    assert not any(parameter.requires_grad for parameter in back.parameters())
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), back.parameters(), strict=True))


def test_a_file_without_a_model_is_refused(tmp_path: Path):
    save_tensors(tmp_path / "data.safetensors", {"tokens": np.zeros((2, 3))})
    with pytest.raises(WhatwhereError, match="holds no whatwhere model"):
        load_model(tmp_path / "data.safetensors")


def test_weights_of_another_shape_are_refused(tmp_path: Path):
    model = GPTJ(ModelConfig(20, layers=1, d_model=8, d_mlp=8))
    about = {"model": ModelConfig(20, layers=1, d_model=8, d_mlp=16).to_dict(), "task": None, "notes": {}}
    save_tensors(tmp_path / "m.safetensors", weights_of(model), {"whatwhere": json.dumps(about)})
    with pytest.raises(WhatwhereError, match="does not hold the weights that its configuration describes"):
        load_model(tmp_path / "m.safetensors")


def test_a_description_that_contradicts_the_weights_or_the_task_is_refused(tmp_path: Path):
    model = GPTJ(ModelConfig(20, layers=1, d_model=8, d_mlp=8))
    about = {"model": model.config.to_dict(), "task": make_task("number").to_dict(), "notes": {}}
    save_tensors(tmp_path / "m.safetensors", weights_of(model), {"whatwhere": json.dumps(about)})
    with pytest.raises(WhatwhereError, match="a model of 20 tokens for a task of 136; it is damaged"):
        load_model(tmp_path / "m.safetensors")
    about = {"model": model.config.to_dict() | {"layers": 10**9}, "task": None, "notes": {}}
    save_tensors(tmp_path / "m.safetensors", weights_of(model), {"whatwhere": json.dumps(about)})
    with pytest.raises(WhatwhereError, match=r"[\d,]+ numbers were expected, and there are"):
        load_model(tmp_path / "m.safetensors")
    arrays = {name: array.astype(np.float64) for name, array in weights_of(model).items()}
    save_tensors(
        tmp_path / "m.safetensors", arrays, {"whatwhere": json.dumps(about | {"model": model.config.to_dict()})}
    )
    with pytest.raises(WhatwhereError, match=r"should be .*'float32'.* and is .*'float64'"):
        load_model(tmp_path / "m.safetensors")
