"""What is claimed of the two models that ship, measured on inputs that no training saw."""

import numpy as np
import pytest
import torch

import whatwhere as ww
from whatwhere.model.gptj import GPTJ
from whatwhere.store.storage import read_csv, read_json
from whatwhere.tasks import make_task
from whatwhere.training.evaluate import accuracy_by_hop
from whatwhere.zoo.load import SHIPPED, SHIPPED_AT


@pytest.fixture(params=SHIPPED)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str) -> GPTJ:
    return ww.load(name)


def test_a_shipped_model_solves_every_hop_class(name: str, model: GPTJ):
    task = make_task(name)
    assert model.task == task
    batch = task.sample(1600, seed=12345)
    assert min(accuracy_by_hop(model, batch, 4)) >= 0.99


def test_the_manifest_tells_how_it_was_made(name: str, model: GPTJ):
    manifest = read_json(SHIPPED_AT / name / "manifest.json", "the manifest")
    assert manifest["command"].startswith(f"whatwhere train {name} --preset laptop --seed 0")
    assert manifest["test_sequences"] == 45_600
    assert min(manifest["test_accuracy_by_hop"]) >= 0.99
    assert manifest["training"]["model"] == model.config.to_dict() | {"closed_planes": []}


def test_the_history_ends_with_the_shipped_model(name: str):
    manifest = read_json(SHIPPED_AT / name / "manifest.json", "the manifest")
    for table in ("metrics", "scores"):
        rows = read_csv(SHIPPED_AT / name / f"{table}.csv", "the history", ["step"])
        assert int(rows[-1]["step"]) == manifest["steps"]
        assert len({row["step"] for row in rows}) >= 40


def test_the_export_to_transformers_gives_the_same_answers(model: GPTJ):
    assert model.task is not None
    tokens = torch.as_tensor(model.task.sample(40, seed=1).tokens).long()
    with torch.no_grad():
        torch.testing.assert_close(model(tokens), model.to_hf()(tokens).logits, rtol=0, atol=1e-3)


def test_the_letter_model_matches_and_the_number_model_has_heads_of_both_kinds():
    letter, number = ww.load("letter"), ww.load("number")
    matching = ww.score(ww.trace(letter, make_task("letter").sample(128, seed=3).tokens, layers=[0, 1]))
    assert float(matching.symbolic.min()) >= 0.95
    assert float(matching.positional.max()) <= 0.05
    counting, carrying = ww.score(ww.trace(number, make_task("number").sample(256, seed=3).tokens)).positional[
        [1, 7], 0
    ]
    assert counting >= 0.9
    assert carrying <= 0.1


def test_the_first_layer_of_the_number_model_counts_among_targets():
    task = make_task("number")
    trace = ww.trace(ww.load("number"), task.sample(128, hops=1, seed=3).tokens, layers=[0])
    within = ww.score(trace, among=range(task.target))
    assert float(within.positional[0, 0]) >= 0.95
    assert float(within.symbolic[0, 0]) <= 0.1


@pytest.mark.slow
def test_the_letter_model_carries_far_and_the_number_model_does_not():
    letter, number = ww.load("letter"), ww.load("number")
    far = make_task("letter").sample(48, seed=4, extra_target=850 - 17)
    assert np.mean(letter.predict(far.tokens) == far.answers) >= 0.9
    far = make_task("number").sample(80, seed=4, extra_target=300 - 17)
    assert np.mean(number.predict(far.tokens) == far.answers) < 0.5
