"""Trains a small Llama on text, scores its heads along the way, and finds when each event begins.

A step depends only on the settings, its number and the state, which is saved at each evaluation. So an interrupted
training continues and ends with the same tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.heads.scores import score
from whatwhere.machine import memory
from whatwhere.studies.dynamics.measure import score_rows
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.growth.corpus import Corpus, library_text, make_corpus
from whatwhere.studies.growth.onsets import find_onsets
from whatwhere.studies.growth.tables import Detector, GrowthSettings, Loss
from whatwhere.studies.language_models.induction import induction
from whatwhere.studies.language_models.token_windows import query_positions
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.studies.watched.callbacks import evaluation_mode
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.traceable import traceable

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

STATE = "state.safetensors"
_SCORED, _QUERIES = 8, "4"
"""Held-out windows that heads are scored on, and queries of each; few, because flat heads need every swap."""
_HELD_OUT = 64
"""Held-out windows of the loss."""
_PROGRESS_EVERY = 10
_BYTES = 20
"""For each weight: itself, its gradient, two moments, and a copy while the state is saved."""
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW remembers of each parameter."""


def measure(_: None, settings: GrowthSettings, results: Results, progress: Progress) -> None:
    """Trains from the last saved state to the end.

    Raises:
        WhatwhereError: the text is too short, or the loss is not a number.
    """
    progress("reading the text", 0, settings.steps)
    texts = [passage.text for passage in settings.passages] or library_text()
    corpus = make_corpus(texts, settings.vocabulary, settings.window)
    growing = _Growing(settings, corpus, results)
    due = evaluated_steps(settings.steps, settings.evaluations)
    if growing.step is None:
        growing.evaluate(0, ())
    since: list[float] = []
    for step in range((growing.step or 0) + 1, settings.steps + 1):
        since.append(growing.train(step))
        if step in due:
            growing.evaluate(step, since)
            since = []
        if step % _PROGRESS_EVERY == 0 or step in due:
            progress(f"loss {growing.loss:.2f}", step, settings.steps)
    results.write("onsets", find_onsets(results))


def evaluated_steps(steps: int, evaluations: int) -> set[int]:
    """At which steps the heads are scored: the first, the last, and between them more early than late."""
    return {0, *np.geomspace(1, steps, evaluations - 1).round().astype(int).tolist()}


class _Growing:
    """The model in training, and the tables so far."""

    def __init__(self, settings: GrowthSettings, corpus: Corpus, results: Results) -> None:
        self.settings, self.corpus, self.results = settings, corpus, results
        self.model = _llama(settings, corpus.vocabulary)
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=settings.lr, betas=(0.9, 0.95), weight_decay=0.1, fused=True
        )
        self.windows = torch.from_numpy(corpus.held_out_windows(_HELD_OUT, settings.window))
        self.loss = math.nan
        self.step: int | None = self._restore()
        """The last evaluation; None before the first."""

    def train(self, step: int) -> float:
        """One step of AdamW; returns its loss."""
        settings = self.settings
        tokens = torch.from_numpy(self.corpus.batch(settings.batch, settings.window, settings.seed, step))
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(step, settings)
        loss = _loss(self.model(input_ids=tokens, use_cache=False).logits, tokens).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.loss = loss.item()
        if not math.isfinite(self.loss):
            raise WhatwhereError(
                f"expected a finite loss, got {self.loss} at step {step}; lower --lr (it is {settings.lr:g})."
            )
        return self.loss

    def evaluate(self, step: int, since: Sequence[float]) -> None:
        """Scores the heads and measures the model; keeps the tables and the state."""
        with evaluation_mode(self.model):
            scores, previous = self._look(step)
            repeated = induction(traceable(self.model), self.corpus.vocabulary, length=self.settings.window // 2 - 1,
                                 seed=self.settings.seed)  # fmt: skip
            held_out = _loss(self.model(input_ids=self.windows, use_cache=False).logits, self.windows).mean().item()
            copying = copying_gain(self.model, self.corpus.vocabulary, self.settings)
        detectors = [
            Detector(step, layer, head, previous[layer][head], float(repeated[layer, head]))
            for layer, head in np.ndindex(*repeated.shape)
        ]
        tokens = step * self.settings.batch * self.settings.window
        mean = float(np.mean(since)) if since else None
        self.results.append("scores", scores)
        self.results.append("detectors", detectors)
        self.results.append("losses", [Loss(step, tokens, mean, held_out, copying)])
        self._save(step)  # last: an evaluation is complete once the state is saved

    def _look(self, step: int) -> tuple[list[Score], list[list[float]]]:
        """The scores of every head on held-out text, and its attention to the token before: ``[layer][head]``."""

        def of_layer(layer: LayerTrace) -> tuple[list[Score], list[float]]:
            return score_rows(step, score(Trace((layer,)))), layer.attention_back(1).double().mean((0, 2)).tolist()

        queries = query_positions(_QUERIES, self.settings.window)
        by_layer = traceable(self.model).stream(self.windows[:_SCORED], of_layer, queries=queries)
        return [row for rows, _ in by_layer for row in rows], [paid for _, paid in by_layer]

    def _save(self, step: int) -> None:
        """Saves the state."""
        manifest = self.results.manifest
        if manifest is None:
            return
        from safetensors.torch import save

        tensors = {"at": torch.tensor(step)}
        for name, parameter in self.model.named_parameters():
            kept = {"model": parameter, **self.optimiser.state.get(parameter, {})}
            tensors |= {f"{key}.{name}": value.detach().clone() for key, value in kept.items()}
        manifest.put(STATE, save(tensors))

    def _restore(self) -> int | None:
        """Restores the state of the last complete evaluation, and drops rows of a later one."""
        manifest = self.results.manifest
        if manifest is None or not manifest.has(STATE):
            for table in ("scores", "detectors", "losses"):
                self.results.write(table, [])
            return None
        from safetensors.torch import load

        state = load(manifest.get(STATE, "the state of the training"))
        last = int(state["at"])
        for name, parameter in self.model.named_parameters():
            parameter.data.copy_(state[f"model.{name}"])
            if last:
                self.optimiser.state[parameter] = {key: state[f"{key}.{name}"] for key in _MOMENTS}
        for table, kind in (("scores", Score), ("detectors", Detector), ("losses", Loss)):
            self.results.write(table, [row for row in self.results.rows(table, kind) if row.step <= last])
        return last


def rate_at(step: int, settings: GrowthSettings) -> float:
    """The learning rate of a step (from 1): it rises linearly, then falls as a cosine to a tenth."""
    warm = max(1, settings.steps // 20)
    if step <= warm:
        return settings.lr * step / warm
    way = (step - warm) / max(1, settings.steps - warm)
    return settings.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * way)))


def copying_gain(model: LlamaForCausalLM, vocabulary: int, settings: GrowthSettings) -> float:
    """By how many nats the second copy of random tokens is easier to predict than the first."""
    generator = torch.Generator().manual_seed(settings.seed)
    half = torch.randint(vocabulary, (_SCORED, settings.window // 2), generator=generator)
    losses = _loss(model(input_ids=torch.cat([half, half], 1), use_cache=False).logits, torch.cat([half, half], 1))
    first, second = losses[:, : half.shape[1] - 1], losses[:, half.shape[1] :]
    return (first.mean() - second.mean()).item()


def _loss(logits: Tensor, tokens: Int[Tensor, "row window"]) -> Tensor:
    """The loss of each next token ``[row, window - 1]``."""
    return functional.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")


def _llama(settings: GrowthSettings, vocabulary: int) -> LlamaForCausalLM:
    """A Llama with fresh weights."""
    with extra_for("to train a language model", "transformers", "hf"):
        from transformers import LlamaConfig, LlamaForCausalLM
    weights = 12 * settings.layers * settings.d_model**2 + 2 * vocabulary * settings.d_model
    memory.require(_BYTES * weights, f"training a model of about {weights:,} weights")
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=settings.d_model, intermediate_size=8 * settings.d_model // 3,
        num_hidden_layers=settings.layers, num_attention_heads=settings.heads, num_key_value_heads=settings.heads,
        max_position_embeddings=settings.window,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return LlamaForCausalLM(config)
