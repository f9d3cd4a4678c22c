from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.store.storage import write_json
from whatwhere.studies.mechanism.flow import Flow, Look, apply_goal, carriers, flow
from whatwhere.studies.mechanism.paths import as_batch
from whatwhere.tasks import LetterTask, NumberTask


def make_flow(task: NumberTask | LetterTask, text: str, layers: int = 4) -> Flow:
    model = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=layers, heads=2, d_model=32, d_mlp=32), seed=0)
    return flow(model, task, as_batch(task, task.encode(text)))


@pytest.mark.parametrize(
    ("task", "text", "answer"), [(NumberTask(), "a b c 3 1 1", "a"), (LetterTask(), "c2 b1 ac da fd", "c2")]
)
def test_the_ideal_part_is_the_functions_layer_by_layer(task: NumberTask | LetterTask, text: str, answer: str) -> None:
    made = make_flow(task, text)
    tokens = task.encode(text)[None]
    for layer in range(4):
        tokens = apply_goal(tokens, task.vocabulary)  # past the last hop it changes nothing
        shown = [look.token for look in made.ideal if look.layer == layer]
        assert " ".join(shown) == task.decode(tokens[0])
    assert made.answer == answer
    assert [look.function for look in made.ideal if look.position == 0] == [
        "index" if task.name == "number" else "retrieval"
    ] * 3 + ["reflexive"]
    last = len(made.tokens) - 1
    assert [look.key for look in made.ideal if look.position == last] == [made.path[1]] * 3 + [last]


def test_the_trained_part_is_the_models_attention_and_unembedding() -> None:
    task = NumberTask()
    text = "a b c 3 1 1"
    model = GPTJ(ModelConfig(vocab_size=136, layers=3, heads=2, d_model=32, d_mlp=32, init_std=0.3), seed=0)
    made = flow(model, task, as_batch(task, task.encode(text)))
    with torch.no_grad():
        trace = model.trace(task.encode(text)[None], queries=range(6), residuals=True)
        attention = trace.attention()[:, 0]  # [layer, head, query, key]
        assert trace.residuals is not None
        chance = model.head(model.norm(trace.residuals)).softmax(-1)[:, 0]
    for look in made.trained:
        seen = attention[look.layer, :, look.position]
        assert look.weight == pytest.approx(float(seen.max()), abs=1e-6)
        assert float(seen[look.head, look.key]) == pytest.approx(look.weight, abs=1e-6)
        assert look.token == task.vocabulary.names[int(chance[look.layer + 1, look.position].argmax())]
    assert made.predicted == task.decode(model.predict(task.encode(text)[None]))
    assert made.layers == 3


@pytest.mark.parametrize(("task", "text"), [(NumberTask(), "a b c 3 1 1"), (LetterTask(), "c2 b1 ac da fd")])
def test_ideal_carriers_bring_the_answer_one_hop_per_layer(task: NumberTask | LetterTask, text: str) -> None:
    made = make_flow(task, text)
    assert carriers(made, made.ideal) == {made.path[2]: 0, made.path[1]: 1, made.path[0]: 2}


def test_a_carrier_may_act_before_the_answer_can_be_read_and_may_stand_off_the_path() -> None:
    made = make_flow(NumberTask(), "a b c 3 1 1")

    def look(layer: int, position: int, key: int, token: str) -> Look:
        return Look(layer, position, key, 1.0, 0, token, 1.0, "")

    looks = {(layer, p): look(layer, p, p, "b") for layer in range(4) for p in range(6)}
    looks[0, 3] = look(0, 3, 0, "b")  # 3 looks at the answer in layer 0 and shows it from layer 1 on
    looks |= {(layer, 3): look(layer, 3, 3, "a") for layer in (1, 2, 3)}
    looks |= {(layer, 2): look(layer, 2, 2, "a") for layer in range(4)}  # off the path, it shows the answer, too
    looks |= {(layer, 5): look(layer, 5, 2, "a") for layer in (2, 3)}  # and the last token takes it from there
    assert carriers(made, tuple(looks.values())) == {3: 0, 5: 2}  # how 4 would get it cannot be told


def test_a_flow_survives_the_disk_and_damage_is_told(tmp_path: Path) -> None:
    made = make_flow(NumberTask(), "a b c 3 1 1")
    made.save(tmp_path / "flow.json")
    assert Flow.read(tmp_path / "flow.json") == made
    write_json(tmp_path / "flow.json", {"tokens": []})
    with pytest.raises(WhatwhereError, match="is not an information flow"):
        Flow.read(tmp_path / "flow.json")


def test_with_fewer_layers_than_hops_the_ideal_does_not_get_there() -> None:
    made = make_flow(NumberTask(), "a b c 3 1 1", layers=2)
    assert [look.token for look in made.ideal if look.position == 5] == ["1", "1"]
    assert carriers(made, made.ideal) == {3: 0, 4: 1}


def test_the_target_window_ends_at_the_first_pointer() -> None:
    made = make_flow(NumberTask(), "a b c 3 1 1")
    assert made.target == 3
    assert np.isfinite([look.chance for look in made.trained]).all()
