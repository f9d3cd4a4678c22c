from __future__ import annotations

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.examples import as_batch, carriers, flow
from whatwhere.studies.mechanism.tables import Look
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.tasks.functions import follow_pointers
from whatwhere.trace.traceable import trace

NUMBER, LETTER = "a b c 3 1 1", "c2 b1 ac da fd"
PATHS = {NUMBER: [5, 4, 3, 0], LETTER: [4, 3, 2, 0]}


def looks(task: Task, text: str, source: str, layers: int = 4) -> list[Look]:
    config = ModelConfig(vocab_size=task.vocab_size, layers=layers, heads=2, d_model=32, d_mlp=32, init_std=0.3)
    made = flow(GPTJ(config, seed=0), task, as_batch(task, task.encode(text)))
    assert len(made) == 2 * layers * len(text.split())
    return [look for look in made if look.source == source]


@pytest.mark.parametrize(("task", "text"), [(NumberTask(), NUMBER), (LetterTask(), LETTER)])
def test_the_ideal_part_is_the_functions_layer_by_layer(task: Task, text: str) -> None:
    ideal = looks(task, text, "ideal")
    tokens = task.encode(text)[None]
    for layer in range(4):
        tokens = follow_pointers(tokens, task.vocabulary)  # past the last hop it changes nothing
        assert " ".join(look.token for look in ideal if look.layer == layer) == task.decode(tokens[0])
    function = "index" if task.name == "number" else "retrieval"
    assert [look.function for look in ideal if look.position == 0] == [function] * 3 + ["reflexive"]
    last, first = PATHS[text][:2]
    assert [look.key for look in ideal if look.position == last] == [first] * 3 + [last]
    assert {look.head for look in ideal} == {None}


def test_the_trained_part_is_the_models_attention_and_unembedding() -> None:
    task = NumberTask()
    model = GPTJ(ModelConfig(vocab_size=136, layers=3, heads=2, d_model=32, d_mlp=32, init_std=0.3), seed=0)
    made = flow(model, task, as_batch(task, task.encode(NUMBER)))
    with torch.no_grad():
        tokens = model.check_tokens(task.encode(NUMBER)[None])
        attention = trace(model, tokens, queries=range(6)).attention()[:, 0]  # [layer, head, query, key]
        chance = model.head(model.norm(torch.stack(list(model.residuals(tokens))))).softmax(-1)[:, 0]
    for look in made:
        if look.source == "trained":
            seen = attention[look.layer, :, look.position]
            assert look.weight == pytest.approx(float(seen.max()), abs=1e-6)
            assert float(seen[look.head, look.key]) == pytest.approx(look.weight, abs=1e-6)
            assert look.token == task.vocabulary.names[int(chance[look.layer + 1, look.position].argmax())]
            assert np.isfinite(look.chance)


@pytest.mark.parametrize(("task", "text", "answer"), [(NumberTask(), NUMBER, "a"), (LetterTask(), LETTER, "c2")])
def test_ideal_carriers_bring_the_answer_one_hop_per_layer(task: Task, text: str, answer: str) -> None:
    path = PATHS[text]
    assert carriers(looks(task, text, "ideal"), path, answer) == {path[2]: 0, path[1]: 1, path[0]: 2}


def test_a_carrier_may_act_before_the_answer_can_be_read_and_may_be_off_the_path() -> None:
    def look(layer: int, position: int, key: int, token: str) -> Look:
        return Look("trained", layer, position, key, 1.0, 0, token, 1.0, "")

    made = {(layer, p): look(layer, p, p, "b") for layer in range(4) for p in range(6)}
    made[0, 3] = look(0, 3, 0, "b")  # 3 looks at the answer in layer 0 and shows it from layer 1 on
    made |= {(layer, 3): look(layer, 3, 3, "a") for layer in (1, 2, 3)}
    made |= {(layer, 2): look(layer, 2, 2, "a") for layer in range(4)}  # off the path, it shows the answer, too
    made |= {(layer, 5): look(layer, 5, 2, "a") for layer in (2, 3)}  # and the last token takes it from there
    assert carriers(list(made.values()), PATHS[NUMBER], "a") == {3: 0, 5: 2}  # how 4 would get it is unknown


def test_with_fewer_layers_than_hops_the_ideal_does_not_get_there() -> None:
    ideal = looks(NumberTask(), NUMBER, "ideal", layers=2)
    assert [look.token for look in ideal if look.position == 5] == ["1", "1"]
    assert carriers(ideal, PATHS[NUMBER], "a") == {3: 0, 4: 1}


def test_pointers_off_the_path_that_point_at_nothing_look_at_themselves() -> None:
    """The authors' letter data has such tokens."""
    ideal = looks(LetterTask(), "c2 b1 dh ac fa", "ideal")
    assert {look.key for look in ideal if look.position == 2} == {2}
    assert [look.token for look in ideal if look.position == 4] == ["ac", "c2", "c2", "c2"]
