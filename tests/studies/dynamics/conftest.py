"""A small run with checkpoints, and the paper's world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from dynamics_world import HOPS, World, made_up, made_up_mechanism

from whatwhere.model.gptj import GPTJ
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Checkpoints of a two-layer model at steps 0, 4 and 8 of 24, with weights that grow, and its metrics."""
    run = Run(tmp_path / "run")
    run.create(replace(smoke(make_task("letter")), threads=1))
    model = GPTJ(run.config.model, seed=0)
    model.task = run.task
    for step in (0, 4, 8):
        run.save_checkpoint(step, model)
        with torch.no_grad():
            for block in model.layers():
                block.w_in.mul_(3)
    run.write_metrics(
        [
            {
                "step": float(step),
                "sequences": 64.0 * step,
                "loss": 1.0,
                "lr": 1e-4,
                "seconds": 1.0,
                "accuracy": 0.5,
                **{f"accuracy_hop{h}": 0.5 for h in HOPS},
            }
            for step in (0, 4)
        ]
    )
    return run


@pytest.fixture(scope="session")
def template() -> World:
    together, in_order = (400,) * 4, (300, 400, 500, 600)
    letter, number = made_up("letter", together, test=0.999), made_up("number", in_order, test=0.999)
    return World(
        {"number": number, "letter": letter, "letter-control": made_up("letter", in_order, test=0.999)},
        {
            "number": made_up_mechanism("number", range(5), "1.0 2.0 6.0", None),
            "letter": made_up_mechanism("letter", range(12), "1.0 2.0 3.0", None),
        },
    )


@pytest.fixture
def world(template: World) -> World:
    """The world as the paper describes it, with our control; a test replaces parts of it."""
    return World(dict(template.dynamics), dict(template.mechanism))
