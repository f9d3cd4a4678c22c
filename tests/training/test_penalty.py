"""The penalty against the scores of heads/, against finite differences, and within its bounds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from whatwhere.heads.scores import score
from whatwhere.machine.threads import split
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.trace.traceable import trace
from whatwhere.training import penalty as module
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.penalty import ROWS, TAU, Penalty, centred_scores

TOKENS = torch.randint(0, 20, (24, 9), generator=torch.Generator().manual_seed(0))
QUERIES = [2, 5, 8]


def model(**shape: Any) -> GPTJ:
    made = GPTJ(ModelConfig(20, layers=3, heads=2, d_model=32, d_mlp=32, init_std=0.3, dropout=0, **shape), seed=1)
    return made.double()


def streams(of: GPTJ, tokens: Tensor) -> list[Tensor]:
    return list(of.residuals(tokens, last_only=True))[:-1]


@pytest.mark.parametrize("tau", [1e-4, TAU])
@pytest.mark.parametrize(
    "shape", [{}, {"rotary_dim": 8}, {"nope_from": 1}, {"closed_planes": ((1, 2), (), (3,))}, {"rope_base": 50.0}]
)
def test_it_is_the_centred_score_of_every_head(shape: dict[str, Any], tau: float) -> None:
    heads = model(**shape).requires_grad_(False)
    ours = centred_scores(heads, streams(heads, TOKENS), [2, 0], QUERIES, tau=tau)
    theirs = score(trace(heads, TOKENS, queries=QUERIES), tau=tau)
    torch.testing.assert_close(ours, 1 - theirs.each_symbolic[[2, 0]], rtol=0, atol=1e-12)


def test_positions_far_apart_turn_as_far() -> None:
    """Tokens at 0, 10, 20, .. with frequencies a tenth of what they were see what tokens at 0, 1, 2, .. saw."""
    heads, spread = model(), torch.arange(9) * 10
    plain = centred_scores(heads, streams(heads, TOKENS), [0], QUERIES)
    object.__setattr__(heads.rotation, "frequencies", heads.rotation.frequencies / 10)
    torch.testing.assert_close(centred_scores(heads, streams(heads, TOKENS), [0], QUERIES, spread), plain)


def test_its_gradient_is_that_of_finite_differences() -> None:
    heads, own = model(), Penalty(0.7, (0, 1, 2), 4)

    def value() -> Tensor:
        return own.loss(heads, streams(heads, TOKENS), len(TOKENS), 0)

    parameters = dict(heads.named_parameters())
    gradients = torch.autograd.grad(value(), list(parameters.values()), allow_unused=True)
    generator = torch.Generator().manual_seed(3)
    compared = 0
    for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
        direction = torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator)
        with torch.no_grad():
            ends = []
            for sign in (1, -1):
                parameter.add_(direction, alpha=sign * 1e-6)
                ends.append(value().item())
                parameter.sub_(direction, alpha=sign * 1e-6)
        slope = 0.0 if gradient is None else float((gradient * direction).sum())
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-8), name
        compared += abs(slope) > 1e-6
    assert compared > 10


def test_a_model_without_rotation_pays_nothing() -> None:
    heads = model(rope_base=None)
    paid = Penalty(1.0, (0, 1, 2), 4).loss(heads, streams(heads, TOKENS), len(TOKENS), 0)
    assert paid.item() == pytest.approx(0)


def test_the_last_layer_is_scored_where_it_answers() -> None:
    heads = model()
    before = streams(heads, TOKENS[:ROWS])
    alone = centred_scores(heads, before, [2], [8]).mean()
    torch.testing.assert_close(Penalty(1.0, (2,), 4).loss(heads, before, ROWS, 0), alone)


def dropout(first_row: int) -> Dropout:
    return Dropout(7, 3, first_row)


def test_shares_of_a_batch_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    heads, own = model().float(), Penalty(0.5, (0, 2), 4)
    loss, whole = loss_and_gradients(heads, TOKENS, TOKENS[:, 0], dropout, penalty=own)
    monkeypatch.setattr("whatwhere.training.gradient.MICRO_BATCH", 5)
    parts = [
        loss_and_gradients(heads, TOKENS, TOKENS[:, 0], dropout, rows, penalty=own) for rows in split(range(24), 3)
    ]
    assert sum(part for part, _ in parts) == pytest.approx(loss, rel=1e-5)
    for at, gradient in enumerate(whole):
        torch.testing.assert_close(sum(each[at] for _, each in parts), gradient, rtol=1e-4, atol=1e-6)
    plain, _ = loss_and_gradients(heads, TOKENS, TOKENS[:, 0], dropout)
    assert loss > plain


@pytest.mark.parametrize("seq", [9, 60, 300])
def test_what_it_keeps_for_the_gradient_stays_within_the_bound_at_any_length(
    seq: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CELLS", 1 << 18)
    heads = GPTJ(ModelConfig(20, layers=2, d_model=32, d_mlp=32), seed=1)
    before = streams(heads, torch.randint(0, 20, (40, seq)))
    sizes: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: sizes.append(kept.numel()) or kept, lambda kept: kept):
        Penalty(1.0, (0, 1), 4).loss(heads, before, 40, 0).backward()
    assert 0 < max(sizes) <= 1 << 18


def test_short_inputs_of_small_models_are_scored_on_sixteen_sequences_at_every_pointer() -> None:
    assert Penalty(1.0, (0, 1, 2), 8).scored(64, 17, 64) == (16, list(range(8, 17)))
    assert Penalty(1.0, (0, 1, 2), 8).scored(4, 17, 64) == (4, list(range(8, 17)))
    assert Penalty(1.0, tuple(range(12)), 8).scored(64, 17, 128)[0] == 8
    rows, queries = Penalty(1.0, tuple(range(12)), 8).scored(64, 512, 128)
    assert (rows, queries) == (1, [511])


def test_two_tokens_before_the_query_are_needed() -> None:
    assert Penalty(1.0, (0,), 1).scored(8, 3, 64) == (8, [2])
