"""Watching heads in a plain loop: what is scored and kept, and that training does not notice."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from checked_types import unchecked
from torch import nn
from torch.nn import functional

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.store.manifest import Manifest
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.results import Results
from whatwhere.studies.watched import WATCHED, callbacks
from whatwhere.studies.watched.callbacks import EACH_LOGGED, HeadWatch

INPUTS = np.random.default_rng(0).integers(0, 20, (3, 7))


@pytest.fixture
def model() -> GPTJ:
    torch.manual_seed(0)
    return GPTJ(ModelConfig(20, layers=2, heads=2, d_model=16, d_mlp=32, init_std=0.5))


class Clock:
    """A fake ``time.perf_counter``: it advances as a test sets it, and by ``cost`` whenever a model is scored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
        self.now = 0.0
        scored = HeadWatch._score

        def slow(watch: HeadWatch, step: int) -> Any:
            self.now += cost
            return scored(watch, step)

        monkeypatch.setattr(callbacks.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(HeadWatch, "_score", slow)


def steps_in(out: Path) -> list[int]:
    return ScoreHistory.of(pd.read_csv(out / "scores.csv")).steps.tolist()


def test_scores_are_those_of_the_model_at_that_step(model: GPTJ, tmp_path: Path) -> None:
    watch = ww.HeadWatch(model, INPUTS, tmp_path / "run", every=10, tau=0.05, budget=None)
    expected = []
    for step in range(21):
        if step % 10 == 0:
            with torch.no_grad():  # as a watch does: gradients take another way through the model, with other rounding
                expected.append(ww.score(ww.trace(model, INPUTS), tau=0.05))
        watch(step)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.05)
    history = ScoreHistory.of(pd.read_csv(tmp_path / "run" / "scores.csv"))
    assert history.steps.tolist() == [0, 10, 20]
    results = Results.open(WATCHED, tmp_path / "run")
    assert (results.settings.tau, results.settings.inputs, results.settings.length) == (0.05, 3, 7)
    for name in ("positional", "symbolic", "entropy", "entropy_share"):
        wanted = torch.stack([getattr(scores, name) for scores in expected]).numpy()
        np.testing.assert_allclose(getattr(history, name), wanted, atol=1e-7)
    table = pd.read_csv(tmp_path / "run" / "scores.csv")
    assert list(table) == [field.name for field in fields(Score)]
    assert set(table["reading"]) == {"last"}
    assert set(table["n"]) == {3}


def test_chosen_heads_and_queries_alone_are_scored(model: GPTJ, tmp_path: Path) -> None:
    HeadWatch(model, INPUTS, tmp_path, layers=[1], heads=[(0, 1)], queries=[3, -1])(5)
    history = ScoreHistory.of(pd.read_csv(tmp_path / "scores.csv"))
    assert np.isnan(history.positional[0, 0, 0])
    with torch.no_grad():
        expected = ww.score(ww.trace(model, INPUTS, queries=[3, -1])).positional.numpy()
    np.testing.assert_allclose(history.positional[0, [0, 1, 1], [1, 0, 1]], expected[[0, 1, 1], [1, 0, 1]], rtol=1e-4)


def test_training_goes_on_bit_for_bit_as_if_nobody_watched(tmp_path: Path) -> None:
    def trained(watched: bool) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        torch.manual_seed(1)
        inner = GPTJ(ModelConfig(20, layers=2, heads=2, d_model=16, d_mlp=32))
        inner.blocks[0].eval()  # a part that its owner keeps in evaluation mode stays there
        watch = HeadWatch(inner, INPUTS, tmp_path / "run", every=1, budget=None) if watched else None
        optimiser = torch.optim.AdamW(inner.parameters(), lr=1e-2)
        dropout = Dropout(0)
        for step in range(4):
            tokens = torch.randint(0, 20, (4, 7))
            loss = functional.cross_entropy(inner.answer_logits(tokens, dropout), tokens[:, 0])
            loss.backward()
            if watch:
                watch(step, loss)  # between the gradient and its use
            optimiser.step()
            optimiser.zero_grad()
            torch.rand(1)
        assert inner.training
        assert not inner.blocks[0].training
        return inner.state_dict(), torch.get_rng_state()

    (alone, state), (watched, state_watched) = trained(False), trained(True)
    assert torch.equal(state, state_watched)
    assert all(torch.equal(alone[name], watched[name]) for name in alone)
    assert steps_in(tmp_path / "run") == [0, 1, 2, 3]


def test_a_model_that_draws_random_numbers_does_not_shift_those_of_training(model: GPTJ, tmp_path: Path) -> None:
    def noisy(*_: Any) -> None:
        assert not model.training
        assert not torch.is_grad_enabled()
        torch.rand(7)

    model.embedding.register_forward_hook(noisy)
    before = torch.get_rng_state()
    HeadWatch(model, INPUTS, tmp_path)(0)
    assert torch.equal(before, torch.get_rng_state())
    assert all(weight.grad is None for weight in model.parameters())


def test_modes_come_back_after_a_failure(model: GPTJ, tmp_path: Path) -> None:
    watch = HeadWatch(model, INPUTS, tmp_path, layers=[9])
    with pytest.raises(WhatwhereError, match="layer"):
        watch(0)
    assert model.training


def test_resuming_repeats_no_step_and_drops_a_future_that_did_not_come(model: GPTJ, tmp_path: Path) -> None:
    first = HeadWatch(model, INPUTS, tmp_path, every=10, budget=None)
    for step in range(0, 41):
        first(step, loss=float(step))
    again = HeadWatch(model, INPUTS, tmp_path, every=10, budget=None, resume=True)
    for step in range(20, 46):  # from a checkpoint at step 20
        again(step, loss=-float(step))
    again(45, final=True)
    again(45, final=True)
    assert steps_in(tmp_path) == [0, 10, 20, 30, 40, 45]
    assert pd.read_csv(tmp_path / "metrics.csv")["loss"].tolist() == [0, 10, -20, -30, -40]


def test_scores_that_are_there_are_not_harmed(model: GPTJ, tmp_path: Path) -> None:
    HeadWatch(model, INPUTS, tmp_path)(0)
    before = (tmp_path / "scores.csv").read_bytes()
    with pytest.raises(WhatwhereError, match="holds scores of a watch already"):
        HeadWatch(model, INPUTS, tmp_path)
    with pytest.raises(WhatwhereError, match=r"expected scores with tau 0\.5, got 0\.0001"):
        HeadWatch(model, INPUTS, tmp_path, tau=0.5, resume=True)
    with pytest.raises(WhatwhereError, match="expected scores with tokens"):
        HeadWatch(model, (INPUTS + 1) % 20, tmp_path, resume=True)
    assert (tmp_path / "scores.csv").read_bytes() == before
    manifest = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(manifest.replace("GPTJ", "GPTK"))
    with pytest.raises(WhatwhereError, match="damaged or was edited"):
        HeadWatch(model, INPUTS, tmp_path, resume=True)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(WhatwhereError, match=r"got a scores\.csv that no watch made"):
        HeadWatch(model, INPUTS, tmp_path, resume=True)
    other = Manifest(tmp_path / "other")
    other.begin("length", {}, {})
    other.finish(0.0)
    with pytest.raises(WhatwhereError, match="expected scores of a watch, got results of 'length'"):
        HeadWatch(model, INPUTS, tmp_path / "other", resume=True)


def test_damaged_losses_are_refused(model: GPTJ, tmp_path: Path) -> None:
    HeadWatch(model, INPUTS, tmp_path)(0, loss=1.0)
    (tmp_path / "metrics.csv").write_text("step,loss\n0,much\n")
    with pytest.raises(WhatwhereError, match=r"metrics\.csv is not the file that manifest\.json describes"):
        HeadWatch(model, INPUTS, tmp_path, resume=True)


def test_due_steps_are_left_out_while_scoring_would_cost_too_much(
    model: GPTJ, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, cost=1.0)
    watch = HeadWatch(model, INPUTS, tmp_path, every=10, budget=0.05)
    for step in range(100):
        watch(step)
        clock.now += 1.0
    # After n scorings of a second each, the next may come when 20 (n + 1) seconds were spent on training.
    assert steps_in(tmp_path) == [0, 40, 60, 80]
    assert watch.share <= 0.05
    assert watch.seconds == 4
    watch(100, final=True)
    assert steps_in(tmp_path)[-1] == 100


def test_a_loop_that_calls_seldom_misses_no_multiple(model: GPTJ, tmp_path: Path) -> None:
    watch = HeadWatch(model, INPUTS, tmp_path, every=10, budget=None)
    scored = [step for step in (3, 7, 9, 12, 19, 35, 36, 40) if watch(step)]
    assert scored == [3, 12, 35, 40]


def test_the_tracker_hears_single_heads_if_they_are_few_and_means_of_many(model: GPTJ, tmp_path: Path) -> None:
    class Recorder:
        def __init__(self) -> None:
            self.heard: list[tuple[int, dict[str, float]]] = []

        def log(self, values: dict[str, float], step: int) -> None:
            self.heard.append((step, values))

    recorder = Recorder()
    values = HeadWatch(model, INPUTS, tmp_path / "few", tracker=recorder)(7)
    assert recorder.heard == [(7, values)]
    assert values is not None
    with torch.no_grad():
        scores = ww.score(ww.trace(model, INPUTS))
    assert values["heads/1.0/symbolic"] == pytest.approx(float(scores.symbolic[1, 0]), rel=1e-6)
    assert values["heads/positional"] == pytest.approx(float(scores.positional.mean()), rel=1e-6)
    assert values["heads/pure_positional"] == 0
    many = GPTJ(ModelConfig(20, layers=1, heads=EACH_LOGGED + 1, d_model=2 * (EACH_LOGGED + 1), d_mlp=8))
    assert set(HeadWatch(many, INPUTS, tmp_path / "many")(0) or ()) == {
        "heads/positional", "heads/symbolic", "heads/pure_positional", "heads/pure_symbolic",
    }  # fmt: skip


class Deaf:
    """A tracker that wants no step."""

    def log(self, values: dict[str, float]) -> None:
        """Takes values only."""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every: expected a number of steps from 1, got 0"),
        ({"budget": 0.0}, "budget: expected a share"),
        ({"budget": 1.5}, "budget: expected a share"),
        ({"tau": 0.0}, "expected a tau above 0, got 0"),
        ({"often": 3}, "expected options of every, layers, heads, queries, tau, budget, got 'often'"),
        ({"heads": [(0, -1)]}, "expected layers and heads from 0, got -1"),
        ({"layers": [-1]}, "expected layers and heads from 0, got -1"),
        ({"inputs": INPUTS[0]}, r"\[batch, seq\], got \(7,\)"),
        ({"inputs": INPUTS[:, :2]}, "at least three token ids"),
        ({"inputs": INPUTS[:0]}, "at least one sequence"),
        ({"inputs": INPUTS / 2}, "of torch.float64"),
        ({"inputs": torch.zeros(2, 5, dtype=torch.long, device="meta")}, "got a Tensor: Cannot copy out of meta"),
        ({"model": nn.Linear(2, 2)}, "got a Linear"),
        ({"tau": float("nan")}, "expected a tau above 0, got nan"),
        ({"tracker": Deaf()}, "got a Deaf: got an unexpected keyword argument 'step'"),
        ({"out": ""}, "expected a directory, got an empty name"),
        ({"out": "~nosuch/x"}, "expected a directory, got '~nosuch/x'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    model: GPTJ, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {"model": model, "inputs": INPUTS, "out": tmp_path} | options
    with pytest.raises(WhatwhereError, match=message):
        HeadWatch(**arguments)


def test_a_head_that_does_not_exist_and_steps_that_fall_are_refused(model: GPTJ, tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match="layer 1: expected heads from 0 to 1, got 2"):
        HeadWatch(model, INPUTS, tmp_path / "heads", heads=[(1, 2)])(0)
    watch = HeadWatch(model, INPUTS, tmp_path / "steps")
    watch(10)
    with pytest.raises(WhatwhereError, match="got step 9 after step 10"):
        watch(9)


def test_what_a_loop_gives_of_another_kind_is_refused_in_words(model: GPTJ, tmp_path: Path) -> None:
    a_step = "expected the number of steps taken, a whole number from 0, got "
    a_loss = "expected the loss as one number, got "
    refused = {
        "watch(inputs=None)": "expected held-out inputs as token ids [batch, seq], got a NoneType",
        "watch(inputs=[[1, 2, 3], [1, 2]])": "expected held-out inputs as token ids [batch, seq], got a list",
        "watch(every=1.5)": "every: expected a number of steps from 1, got 1.5",
        "watch(every='10')": "every: expected a number of steps from 1, got '10'",
        "watch(budget='x')": "budget: expected a share",
        "watch(tau='x')": "expected a tau above 0, got x",
        "watch(layers=3)": "layers: expected whole numbers in a list, got 3",
        "watch(layers=[0.5])": "layers: expected whole numbers in a list, got [0.5]",
        "watch(queries='last')": "queries: expected whole numbers in a list, got 'last'",
        "watch(heads=[0, 1])": "heads: expected pairs (layer, head) in a list, got [0, 1]",
        "watch(heads=[(0, 1, 2)])": "heads: expected pairs (layer, head) in a list",
        "watch(tracker=3)": "expected a tracker with log(values, step=...), such as the module wandb, got a int: ",
        "watch(out=3)": "expected a directory, got a int: 3",
        "watch()('1')": f"{a_step}'1'",
        "watch()(None)": a_step,
        "watch()(1.5)": a_step,
        "watch()(-1)": a_step,
        "watch()(2**63)": a_step,
        "watch()(torch.tensor([1, 2]))": a_step,
        "watch()(0, 'x')": f"{a_loss}'x'",
        "watch()(0, torch.zeros(2))": a_loss,
        "watch()(0, 1j)": a_loss,
        "watch()(0, 10**400)": a_loss,
    }

    def watch(inputs: Any = INPUTS, out: Any = None, **options: Any) -> Any:
        return HeadWatch(model, inputs, mkdtemp(dir=tmp_path) if out is None else out, **options)

    with unchecked():
        for call, message in refused.items():
            with pytest.raises(WhatwhereError, match=f"^{re.escape(message)}"):
                eval(call, {"watch": watch, "torch": torch})
        taken = watch(heads=np.array([[1, 0]]), queries=torch.tensor([-1, 4]))(torch.tensor(3))
        assert list(taken) == [
            "heads/positional", "heads/symbolic", "heads/pure_positional", "heads/pure_symbolic",
            "heads/1.0/positional", "heads/1.0/symbolic",
        ]  # fmt: skip
        assert len(watch(layers=np.array([0, 1]), every=np.int64(2))(np.int64(4), np.float32(2))) == 12


def test_a_tracker_whose_arguments_nobody_knows_is_taken(model: GPTJ, tmp_path: Path) -> None:
    class Opaque:
        log = staticmethod(dict)  # written in C, without a signature

    assert HeadWatch(model, INPUTS, tmp_path, tracker=Opaque())(0)  # pyright: ignore[reportArgumentType]


def test_a_model_without_layers_has_nothing_to_watch(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {"vocab_size": 20, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1}
    with pytest.raises(WhatwhereError, match=r"expected a model with layers that attend, got .* without one"):
        HeadWatch(LlamaForCausalLM(LlamaConfig(**sizes, num_hidden_layers=0)), INPUTS, tmp_path)(0)
    with torch.device("meta"):
        empty = LlamaForCausalLM(LlamaConfig(**sizes, num_hidden_layers=1))
    with pytest.raises(WhatwhereError, match="expected a model with its weights, got one on the device meta"):
        HeadWatch(empty, INPUTS, tmp_path)
