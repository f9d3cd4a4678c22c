from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from whatwhere.machine.threads import split
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.training import gradient
from whatwhere.training.gradient import loss_and_gradients

TOKENS = torch.randint(0, 20, (13, 9), generator=torch.Generator().manual_seed(0))


def dropout(first_row: int) -> Dropout:
    return Dropout(7, 3, first_row)


@pytest.fixture
def model() -> GPTJ:
    return GPTJ(ModelConfig(20, layers=2, heads=2, d_model=16, d_mlp=32, dropout=0.2, attention_dropout=0.2))


@pytest.fixture(params=[1, 2, 3])
def cores(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def at_once(model: GPTJ) -> tuple[float, list[Tensor]]:
    """The definition: the whole batch in one pass."""
    loss = functional.cross_entropy(model.answer_logits(TOKENS, dropout(0)), TOKENS[:, 0])
    return loss.item(), list(torch.autograd.grad(loss, list(model.parameters())))


def assert_equal(ours: tuple[float, list[Tensor]], theirs: tuple[float, list[Tensor]]) -> None:
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
    for one, other in zip(ours[1], theirs[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("cores")
@pytest.mark.parametrize("together", [1, 4, 64])
def test_cores_and_parts_of_a_batch_give_the_gradient_of_the_whole(
    model: GPTJ, together: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gradient, "MICRO_BATCH", together)
    assert_equal(loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout), at_once(model))


@pytest.mark.usefixtures("cores")
def test_the_same_is_found_each_time_to_the_last_bit(model: GPTJ):
    first, again = (loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout) for _ in range(2))
    assert first[0] == again[0]
    assert all(torch.equal(one, other) for one, other in zip(first[1], again[1], strict=True))


def test_without_penalty_and_positions_it_is_the_same_to_the_last_bit(model: GPTJ):
    torch.set_num_threads(1)
    expected = at_once(model)
    loss = functional.cross_entropy(model.answer_logits(TOKENS, dropout(0)), TOKENS[:, 0], reduction="sum") / 13
    found, gradients = loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout)
    assert found == loss.item()
    assert all(map(torch.equal, gradients, torch.autograd.grad(loss, list(model.parameters()))))
    spread = loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout, positions=torch.arange(9) * 3)
    assert spread[0] != expected[0]


def test_the_shares_of_several_processes_add_up(model: GPTJ):
    shares = [loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout, rows) for rows in split(range(13), 3)]
    total = sum(loss for loss, _ in shares), [sum(parts) for parts in zip(*(g for _, g in shares), strict=True)]
    assert_equal(total, at_once(model))  # pyright: ignore[reportArgumentType]


def test_a_share_without_sequences_has_a_gradient_of_nothing(model: GPTJ):
    loss, gradients = loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout, range(5, 5))
    assert loss == 0
    assert len(gradients) == len(list(model.parameters()))
    assert not any(each.any() for each in gradients)


def test_where_torch_chooses_the_precision_the_gradient_is_near(model: GPTJ, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("whatwhere.model.gptj.serves", lambda _: False)
    _, rounded = loss_and_gradients(model, TOKENS, TOKENS[:, 0], dropout, autocast=True)
    for one, other in zip(rounded, at_once(model)[1], strict=True):
        assert one.dtype == torch.float32
        assert 0 < float((one - other).norm() / other.norm()) < 0.1
