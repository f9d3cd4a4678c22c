"""The gradients of layers: against autograd on a small model, and what is made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from dynamics_world import EARLY, SYMBOLIC, made_up
from torch.nn import functional

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import purity
from whatwhere.studies.dynamics import DYNAMICS
from whatwhere.studies.dynamics.gradients import chosen_steps, gradient_order, gradients_of
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.tables import DynamicsSettings, Gradient
from whatwhere.studies.measuring import measure
from whatwhere.studies.results import Results
from whatwhere.training.run import Run


def measured(run: Run, gradients: bool) -> Results:
    opened = DYNAMICS.subject.open(run)
    settings = DynamicsSettings(inputs=8, readings=1, gradients=gradients)
    return measure(DYNAMICS, opened, settings, None)


def test_size_and_agreement_are_those_of_autograd(run: Run) -> None:
    model = run.load(4)
    batch = run.task.sample(16, seed=3)
    rows = gradients_of(model, 4, (batch[:8], batch[8:]))
    found = []
    for half in (batch[:8], batch[8:]):
        model.zero_grad()
        logits = model(torch.tensor(half.tokens))[:, -1]
        functional.cross_entropy(logits, torch.tensor(half.answers).long()).backward()
        found.append([block.w_in.grad[: 2 * model.config.d_model].flatten().clone() for block in model.layers()])  # pyright: ignore[reportOptionalSubscript]
    assert [(row.step, row.layer) for row in rows] == [(4, 0), (4, 1)]
    for layer, block in enumerate(model.layers()):
        a, b = found[0][layer], found[1][layer]
        weights = block.w_in[: 2 * model.config.d_model].detach().norm()
        assert rows[layer].size == pytest.approx(float(((a + b) / 2).norm() / weights), rel=1e-3)
        assert rows[layer].agreement == pytest.approx(float(a @ b / a.norm() / b.norm()), abs=1e-3)


def test_the_same_inputs_twice_agree(run: Run) -> None:
    batch = run.task.sample(8, seed=3)
    assert all(row.agreement == pytest.approx(1) for row in gradients_of(run.load(4), 4, (batch, batch)))


def test_the_table_is_made_on_request_and_results_without_it_stay_valid(run: Run) -> None:
    without, having = measured(run, False), measured(run, True)
    assert not without.has("gradients")
    assert "gradient" not in without.summary
    with pytest.raises(WhatwhereError, match=r"the table 'gradients' is not there; measure it with: .* --gradients"):
        without["gradients"]
    rows = having.rows("gradients", Gradient)
    assert [(row.step, row.layer) for row in rows] == [(step, layer) for step in (0, 4, 8) for layer in (0, 1)]
    assert "gradient of queries" in having.summary
    assert DynamicsSettings().decisive() == {"inputs": 1200, "seed": 0, "tau": 1e-4, "readings": 25}
    assert DynamicsSettings(gradients=True).decisive()["gradients"] is True


def test_checkpoints_end_where_the_first_head_is_pure() -> None:
    steps = np.arange(0, 1001, 10)
    symbolic = np.where(steps[:, None, None] >= 500, 1.0, 0.5) * np.ones((1, 2, 1))
    found = chosen_steps(purity(steps, 0 * symbolic, symbolic), steps.tolist())
    assert (len(found), found[0], found[-1]) == (12, 0, 500)
    never = chosen_steps(purity(steps, symbolic, symbolic), steps.tolist())
    assert (len(never), never[-1]) == (12, 1000)
    assert chosen_steps(purity(steps[:3], 0 * symbolic[:3], symbolic[:3]), [0, 10, 20]) == [0, 10, 20]


def test_the_order_of_gradients_is_compared_with_layers_and_with_purity() -> None:
    results = made_up(
        "letter", [300] * 4, lambda layer, step: SYMBOLIC if step >= 900 - 100 * layer else EARLY, layers=4
    )
    rows = [Gradient(step, layer, 1.0 - 0.1 * layer, 0.1 * layer * (1 if step else -1))
            for step in (0, 100, 200) for layer in range(4)]  # fmt: skip
    results.write("gradients", rows)
    found = gradient_order(Training(results))
    assert found["size"] == {"layer": pytest.approx(-1), "purity": pytest.approx(1), "last": pytest.approx(-1)}
    assert found["agreement"]["layer"] == pytest.approx((-1 + 1 + 1) / 3)
    assert found["agreement"]["last"] == pytest.approx(1)
