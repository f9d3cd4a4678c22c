"""The Trainer's callback, in real trainings of a tiny Llama."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

import whatwhere as ww
from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.watched.trainer import HeadWatchCallback

pytest.importorskip("accelerate", reason="the Trainer cannot run without accelerate; pip install accelerate")

TOKENS = torch.randint(0, 30, (40, 8), generator=torch.Generator().manual_seed(0))
HELD_OUT = TOKENS[:3]


class Reporter(TrainerCallback):
    """What the trackers that the Trainer reports to are told."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, dict[str, float]]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        del args, control, kwargs
        self.heard.append((state.global_step, dict(logs)))


def make(tmp_path: Path, steps: int = 6) -> tuple[Trainer, Reporter]:
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, attention_dropout=0.2,
        )
    )  # fmt: skip
    arguments = TrainingArguments(
        str(tmp_path / "trainer"), max_steps=steps, per_device_train_batch_size=4, logging_steps=1, learning_rate=1e-2,
        save_steps=2, report_to="none", disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False,
    )  # fmt: skip
    reporter = Reporter()
    data: Any = [{"input_ids": row, "labels": row} for row in TOKENS[3:]]
    return Trainer(model=model, args=arguments, train_dataset=data, callbacks=[reporter]), reporter


@pytest.mark.slow
def test_scores_are_kept_and_logged_and_the_loss_still_is(tmp_path: Path) -> None:
    trainer, reporter = make(tmp_path)
    trainer.add_callback(HeadWatchCallback(trainer, HELD_OUT, tmp_path / "run", every=3, budget=None))
    trainer.train()
    history = ScoreHistory.of(pd.read_csv(tmp_path / "run" / "scores.csv"))
    assert history.steps.tolist() == [0, 3, 6]
    assert trainer.model is not None
    last = ww.score(ww.trace(trainer.model, HELD_OUT))
    np.testing.assert_allclose(history.positional[-1], last.positional.numpy(), atol=1e-6)
    logged = {step: values for step, values in reporter.heard if "heads/1.0/positional" in values}
    assert sorted(logged) == [0, 3, 6]
    assert logged[6]["heads/1.0/positional"] == pytest.approx(float(last.positional[1, 0]), rel=1e-6)
    assert [step for step, values in reporter.heard if "loss" in values] == [1, 2, 3, 4, 5, 6]
    losses = {step: values["loss"] for step, values in reporter.heard if "loss" in values}
    kept = pd.read_csv(tmp_path / "run" / "metrics.csv").set_index("step")["loss"].to_dict()
    assert kept == pytest.approx({3: losses[2], 6: losses[5]})  # the last that was known


@pytest.mark.slow
def test_training_does_not_notice(tmp_path: Path) -> None:
    def weights(watched: bool) -> dict[str, torch.Tensor]:
        trainer, _ = make(tmp_path / str(watched), steps=3)
        if watched:
            trainer.add_callback(HeadWatchCallback(trainer, HELD_OUT, tmp_path / "run", every=1, budget=None))
        trainer.train()
        assert trainer.model is not None
        return trainer.model.state_dict()

    alone, watched = weights(False), weights(True)
    assert all(torch.equal(alone[name], watched[name]) for name in alone)


@pytest.mark.slow
def test_a_training_that_resumes_goes_on_with_its_scores(tmp_path: Path) -> None:
    trainer, _ = make(tmp_path, steps=4)
    trainer.add_callback(HeadWatchCallback(trainer, HELD_OUT, tmp_path / "run", every=1, budget=None))
    trainer.train()
    again, _ = make(tmp_path, steps=6)
    again.add_callback(HeadWatchCallback(again, HELD_OUT, tmp_path / "run", every=1, budget=None))
    again.train(resume_from_checkpoint=str(tmp_path / "trainer" / "checkpoint-2"))
    assert ScoreHistory.of(pd.read_csv(tmp_path / "run" / "scores.csv")).steps.tolist() == [0, 1, 2, 3, 4, 5, 6]
    again, _ = make(tmp_path)
    again.add_callback(HeadWatchCallback(again, HELD_OUT, tmp_path / "run"))
    with pytest.raises(WhatwhereError, match="holds scores of a watch already"):
        again.train()


def test_other_processes_than_the_first_do_nothing(tmp_path: Path) -> None:
    trainer, _ = make(tmp_path)
    callback = HeadWatchCallback(trainer, HELD_OUT, tmp_path / "run")
    trainer.state.is_world_process_zero = False
    callback.on_train_begin(trainer.args, trainer.state, trainer.control)
    callback.on_step_end(trainer.args, trainer.state, trainer.control)
    assert not (tmp_path / "run").exists()


def test_without_transformers_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "whatwhere.studies.watched.trainer")
    with pytest.raises(MissingExtraError, match=r"pip install 'whatwhere\[hf\]'"):
        import_module("whatwhere.studies.watched.trainer")
