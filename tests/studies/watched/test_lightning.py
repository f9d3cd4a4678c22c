"""Lightning's callback, in real trainings of a tiny model."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.loggers import CSVLogger
from torch.nn import functional
from torch.utils.data import DataLoader

import whatwhere as ww
from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.dynamics.history import ScoreHistory
from whatwhere.studies.watched.lightning import HeadWatchCallback

pytestmark = pytest.mark.filterwarnings("default")  # Lightning warns of this machine's cores and of small data

TOKENS = torch.randint(0, 20, (40, 7), generator=torch.Generator().manual_seed(0))
HELD_OUT = TOKENS[:3]


class Module(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model = GPTJ(ModelConfig(20, layers=2, heads=2, d_model=16, d_mlp=32))

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        del index
        return functional.cross_entropy(self.model.answer_logits(batch), batch[:, 0])

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.model.parameters(), lr=1e-2)


def fit(tmp_path: Path, steps: int, *, name: str = "run", checkpoint: Path | None = None, **options: Any) -> Module:
    module = Module()
    watch = HeadWatchCallback(module.model, HELD_OUT, tmp_path / name, budget=None, **options)
    trainer = Trainer(
        max_steps=steps, callbacks=[watch], logger=CSVLogger(tmp_path / "logs", name=name, flush_logs_every_n_steps=1),
        accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
        default_root_dir=tmp_path, log_every_n_steps=1, accumulate_grad_batches=2,
    )  # fmt: skip
    data: Any = TOKENS[3:]
    trainer.fit(module, DataLoader(data, batch_size=4), ckpt_path=checkpoint, weights_only=False)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    return module


def test_scores_are_kept_and_logged(tmp_path: Path) -> None:
    module = fit(tmp_path, 4, every=2)
    history = ScoreHistory.of(pd.read_csv(tmp_path / "run" / "scores.csv"))
    assert history.steps.tolist() == [0, 2, 4]
    with torch.no_grad():
        last = ww.score(ww.trace(module.model, HELD_OUT)).symbolic.numpy()
    np.testing.assert_allclose(history.symbolic[-1], last, atol=1e-6)
    [log] = (tmp_path / "logs").glob("**/metrics.csv")
    rows = pd.read_csv(log).dropna(subset="heads/1.1/symbolic")
    assert rows["step"].tolist() == [0, 2, 4]
    assert rows["heads/1.1/symbolic"].iloc[-1] == pytest.approx(float(last[1, 1]), abs=1e-6)
    losses = pd.read_csv(tmp_path / "run" / "metrics.csv")
    assert losses["step"].tolist() == [2, 4]
    assert min(losses["loss"].tolist()) > 0


@pytest.mark.slow
def test_a_training_that_resumes_goes_on_with_its_scores(tmp_path: Path) -> None:
    fit(tmp_path, 3, every=1)
    fit(tmp_path, 5, every=1, checkpoint=tmp_path / "last.ckpt")
    assert ScoreHistory.of(pd.read_csv(tmp_path / "run" / "scores.csv")).steps.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(WhatwhereError, match="holds scores of a watch already"):
        fit(tmp_path, 1)


def test_other_processes_than_the_first_do_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "is_global_zero", False)
    module, trainer = Module(), Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    callback = HeadWatchCallback(module.model, HELD_OUT, tmp_path / "run")
    callback.on_train_start(trainer, module)
    callback.on_train_batch_end(trainer, module, None, None, 0)
    assert not (tmp_path / "run").exists()


def test_without_lightning_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    monkeypatch.delitem(sys.modules, "whatwhere.studies.watched.lightning")
    with pytest.raises(MissingExtraError, match=r"pip install 'whatwhere\[lightning\]'"):
        import_module("whatwhere.studies.watched.lightning")
