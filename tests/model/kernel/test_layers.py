import math
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel import layers
from whatwhere.model.kernel.build import kernels
from whatwhere.model.shape import ModelConfig

pytestmark = pytest.mark.skipif(kernels().library is None, reason="runs where there is a C compiler")
HALF, SINGLE = torch.bfloat16, torch.float32
both_precisions = pytest.mark.parametrize("product", [SINGLE, HALF], ids=["float32", "bfloat16"])


@pytest.fixture(autouse=True)
def own_products_on_every_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch's products are faster than ours, these are still right."""
    monkeypatch.setattr("whatwhere.model.gptj.multiplies", lambda *_: True)


def model_of(product: torch.dtype = HALF, **changes: Any) -> GPTJ:
    shape = {"layers": 3, "heads": 2, "d_model": 64, "d_mlp": 128, "init_std": 0.1} | changes
    model = GPTJ(ModelConfig(20, **shape))
    model.multiply_in(product)
    return model


def tokens(batch: int = 6, seq: int = 9) -> Tensor:
    return torch.randint(0, 20, (batch, seq), generator=torch.Generator().manual_seed(0))


def loss_of(model: GPTJ, ids: Tensor, at_once: bool = True) -> Tensor:
    if at_once:
        x = model.at_end(ids, Dropout(1))
    else:
        *_, x = model.residuals(ids, Dropout(1), last_only=True)
    return functional.cross_entropy(model.read_out(x), ids[:, 0], reduction="sum")


def gradients(model: GPTJ, ids: Tensor, at_once: bool = True) -> list[Tensor]:
    return list(torch.autograd.grad(loss_of(model, ids, at_once), list(model.parameters())))


def with_products_of_torch(model: GPTJ, ids: Tensor) -> list[Tensor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whatwhere.model.gptj.multiplies", lambda *_: False)
        return gradients(model, ids)


def distance(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """The difference of two gradients against the size of the second."""
    apart = math.sqrt(sum(float((one - other).square().sum()) for one, other in zip(ours, theirs, strict=True)))
    return apart / math.sqrt(sum(float(other.square().sum()) for other in theirs))


@given(
    batch=st.integers(1, 19),
    seq=st.integers(1, 40),
    heads=st.sampled_from([1, 2]),
    rate=st.sampled_from([0.0, 0.2]),
    activation=st.sampled_from(["gelu", "gelu_tanh"]),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the same in every example
@pytest.mark.slow
def test_its_gradient_is_that_with_products_of_torch_up_to_rounding(
    batch: int, seq: int, heads: int, rate: float, activation: str
):
    model = model_of(SINGLE, heads=heads, dropout=rate, attention_dropout=rate, activation=activation)
    ids = tokens(batch, seq)
    assert distance(gradients(model, ids), with_products_of_torch(model, ids)) < 1e-5
    model.multiply_in(HALF)
    ours, theirs = gradients(model, ids), with_products_of_torch(model, ids)
    model.multiply_in(SINGLE)
    exact = with_products_of_torch(model, ids)
    assert 0 < distance(ours, theirs) < 0.02
    assert distance(ours, exact) < 1.1 * distance(theirs, exact) + 1e-3


@both_precisions
def test_all_layers_in_one_call_are_the_same_as_one_by_one_to_the_last_bit(product: torch.dtype):
    model = model_of(product, dropout=0.2, attention_dropout=0.2, closed_planes=((1, 3), (), (2,)), nope_from=2)
    assert all(map(torch.equal, gradients(model, tokens()), gradients(model, tokens(), at_once=False)))


@both_precisions
def test_a_pass_without_a_gradient_gives_the_same_bits_and_takes_two_small_buffers(product: torch.dtype):
    model, ids = model_of(product, nope_from=2), tokens(40, 40)
    with_gradient = model.at_end(ids)
    layers._FREE.clear()
    with torch.no_grad():
        assert torch.equal(model.at_end(ids), with_gradient)
    assert len(layers._FREE) == 2
    rows = ids.numel()
    assert all(
        len(buffer) < rows * 300 for buffer in layers._FREE
    )  # with all of z alone there would be 320 numbers a row


@pytest.mark.parametrize("learns", [True, False])
def test_a_stream_that_is_no_whole_array_is_read_where_it_lies(learns: bool):
    model = model_of()
    block, turns = next(model.layers()), model.turns_of(0, 9)
    wide = torch.randn(6, 18, 64, generator=torch.Generator().manual_seed(1))
    with torch.set_grad_enabled(learns):
        assert torch.equal(block(wide[:, ::2], *turns), block(wide[:, ::2].contiguous(), *turns))


def test_a_pass_that_is_let_go_leaves_no_memory_behind():
    model = model_of()
    gone = weakref.ref(model.at_end(tokens()))
    assert gone() is None


@both_precisions
def test_memory_of_earlier_steps_leaves_no_trace(product: torch.dtype):
    model = model_of(product, dropout=0.2, attention_dropout=0.2)
    first = gradients(model, tokens())
    gradients(model, tokens(19, 40))
    for buffer in layers._FREE:
        buffer.fill_(-1)  # NaN in every kind of number
    assert all(map(torch.equal, gradients(model, tokens()), first))


def test_two_passes_may_wait_for_their_gradients():
    model = model_of()
    parameters = list(model.parameters())
    expected = gradients(model, tokens()), gradients(model, tokens(4, 7))
    one, other = loss_of(model, tokens()), loss_of(model, tokens(4, 7))
    found = [list(torch.autograd.grad(loss, parameters)) for loss in (one, other)]
    for ours, theirs in zip(found, expected, strict=True):
        assert all(map(torch.equal, ours, theirs))


def test_a_gradient_that_is_taken_twice_is_refused():
    model = model_of()
    loss, parameters = loss_of(model, tokens()), list(model.parameters())
    torch.autograd.grad(loss, parameters, retain_graph=True)
    with pytest.raises(AssertionError, match="taken once"):
        torch.autograd.grad(loss, parameters)


@both_precisions
def test_a_number_that_is_none_stays_visible(product: torch.dtype):
    model = model_of(product)
    with torch.no_grad():
        next(model.layers()).w_in[3, 3] = math.nan
    assert loss_of(model, tokens()).isnan()


def test_a_batch_without_sequences_has_a_gradient_of_nothing():
    assert not any(gradient.any() for gradient in gradients(model_of(), tokens()[:0]))


@pytest.mark.parametrize(
    ("widths", "learns", "answer"),
    [({}, True, True), ({"d_mlp": 100}, True, False), ({"d_model": 32}, True, False), ({}, False, False)],
    ids=["a training", "an odd MLP", "a narrow model", "few rows without a gradient"],
)
def test_widths_that_do_not_fill_a_panel_and_small_inputs_are_left_to_torch(
    widths: dict[str, Any], learns: bool, answer: bool, monkeypatch: pytest.MonkeyPatch
):
    here = SimpleNamespace(panel=lambda: 64, own_products=lambda half: int(half))
    monkeypatch.setattr(layers, "loaded", lambda: here)
    block = next(model_of(**widths).layers())
    with torch.set_grad_enabled(learns):
        assert layers.multiplies(block, torch.zeros(2, 9, 64)) == answer
        assert layers.multiplies(block, torch.zeros(64, 9, 64)) == (answer or not widths)
        block.product = SINGLE
        assert not layers.multiplies(block, torch.zeros(64, 9, 64))
