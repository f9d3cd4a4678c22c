from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.examples import measure_examples, read_examples
from whatwhere.tasks import LetterTask, NumberTask, Task


def tiny(task: Task, seed: int = 0) -> GPTJ:
    return GPTJ(
        ModelConfig(vocab_size=task.vocab_size, layers=2, heads=2, d_model=32, d_mlp=32, init_std=0.3), seed=seed
    )


@pytest.mark.parametrize("task", [NumberTask(), LetterTask()], ids=["number", "letter"])
def test_examples_hold_what_the_model_did(tmp_path: Path, task: Task) -> None:
    model = tiny(task)
    examples = read_examples(measure_examples(model, task, tmp_path, per_hop=2, seed=3))["examples"]
    assert [example["hops"] for example in examples] == [1, 2, 3, 4, 1, 2, 3, 4]
    tokens = np.stack([task.encode(" ".join(example["tokens"])) for example in examples])
    assert task.decode(task.solve(tokens)).split() == [example["answer"] for example in examples]
    assert task.decode(model.predict(tokens)).split() == [example["predicted"] for example in examples]
    with torch.no_grad():
        attention = model.trace(tokens, queries=range(task.length)).attention().numpy()  # [layer, batch, head, q, k]
    for i, example in enumerate(examples):
        assert [example["tokens"][p] for p in example["path"]][-1] == example["answer"]
        assert len(example["path"]) == example["hops"] + 1
        for layer, heads in enumerate(example["attention"]):
            for head, rows in enumerate(heads):
                assert [len(row) for row in rows] == list(range(1, task.length + 1))
                for query, row in enumerate(rows):
                    assert np.allclose(row, attention[layer, i, head, query, : query + 1], atol=6e-4)


def test_a_swap_can_be_computed_from_the_matrix(tmp_path: Path) -> None:
    """At layer 0 the swap of two keys is that of two tokens, so the model itself can be asked."""
    task = NumberTask()
    model = tiny(task)
    example = read_examples(measure_examples(model, task, tmp_path))["examples"][0]
    i, j = 2, 11
    tokens = list(example["tokens"])
    tokens[i], tokens[j] = tokens[j], tokens[i]
    with torch.no_grad():
        asked = (
            model.trace(task.encode(" ".join(tokens))[None], layers=[0]).attention()[0, 0, :, 0].numpy()
        )  # [head, k]
    for head, matrix in enumerate(np.array(example["content_by_position"][0])):
        logits = matrix.diagonal().copy()
        logits[i], logits[j] = matrix[j, i], matrix[i, j]
        swapped = np.exp(logits - logits.max())
        assert np.allclose(swapped / swapped.sum(), asked[head], atol=2e-3)


def test_examples_are_kept_and_replaced_on_request_only(tmp_path: Path) -> None:
    task = NumberTask()
    path = measure_examples(tiny(task), task, tmp_path, per_hop=1)
    before = path.stat().st_mtime_ns
    assert measure_examples(tiny(task), task, tmp_path, per_hop=1).stat().st_mtime_ns == before
    with pytest.raises(WhatwhereError, match="results made with seed 0, and 1 was"):
        measure_examples(tiny(task), task, tmp_path, per_hop=1, seed=1)
    measure_examples(tiny(task), task, tmp_path, per_hop=1, seed=1, force=True)
    assert read_examples(path)["settings"]["seed"] == 1


def test_damaged_examples_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "examples.json"
    path.write_text("{}")
    with pytest.raises(WhatwhereError, match="should hold 'settings' and 'examples'"):
        read_examples(path)
