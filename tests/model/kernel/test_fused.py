import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel import fused
from whatwhere.model.kernel.build import kernels
from whatwhere.model.shape import ModelConfig

pytestmark = pytest.mark.skipif(kernels().library is None, reason=f"runs with a C compiler; {kernels().missing}")

Gradients = tuple[Tensor, list[Tensor]]


def small(**changes: object) -> GPTJ:
    shape = {"layers": 3, "heads": 2, "d_model": 16, "d_mlp": 32, "rotary_dim": 6, "init_std": 0.3} | changes
    return GPTJ(ModelConfig(20, **shape))  # pyright: ignore[reportArgumentType]


def tokens(batch: int = 6, seq: int = 9) -> Tensor:
    return torch.randint(0, 20, (batch, seq), generator=torch.Generator().manual_seed(0))


def gradients(model: GPTJ, ids: Tensor, dropout: Dropout | None = None, last_only: bool = False) -> Gradients:
    *_, x = model.residuals(ids, dropout, last_only)
    loss = functional.cross_entropy(model.head(model.norm(x[:, -1])), ids[:, 0], reduction="sum")
    return loss.detach(), list(torch.autograd.grad(loss, list(model.parameters())))


def on_the_plain_path(model: GPTJ, *arguments: object) -> Gradients:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whatwhere.model.gptj.serves", lambda _: False)
        return gradients(model, *arguments)  # pyright: ignore[reportArgumentType]


def assert_close(ours: Gradients, theirs: Gradients, rtol: float = 1e-5) -> None:
    """Errors are held against the whole gradient: a part of it that is near 0 is the difference of larger numbers."""
    torch.testing.assert_close(ours[0], theirs[0].float(), rtol=1e-5, atol=1e-5)
    size = math.sqrt(sum(float(gradient.square().sum()) for gradient in theirs[1]))
    for one, other in zip(ours[1], theirs[1], strict=True):
        assert float((one - other).abs().max()) <= rtol * size


@pytest.mark.parametrize("last_only", [True, False])
@pytest.mark.parametrize(("rate", "attention_rate"), [(0.0, 0.0), (0.3, 0.3), (0.0, 0.5)])
@pytest.mark.parametrize(
    "changes", [{}, {"closed_planes": ((1, 3), (), (2,))}, {"nope_from": 1}, {"activation": "gelu_tanh"}]
)
def test_the_compiled_block_and_the_plain_one_have_the_same_gradient(
    last_only: bool, rate: float, attention_rate: float, changes: dict[str, object]
):
    model = small(dropout=rate, attention_dropout=attention_rate, **changes)
    ours = gradients(model, tokens(), Dropout(1), last_only)
    assert_close(ours, on_the_plain_path(model, tokens(), Dropout(1), last_only))


@given(
    batch=st.integers(1, 5),
    seq=st.integers(1, 40),
    heads=st.sampled_from([1, 2, 3]),
    d_head=st.integers(1, 10).map(lambda half: 2 * half),
    rotary=st.integers(0, 10),
    d_mlp=st.integers(1, 50),
    rate=st.sampled_from([0.0, 0.2]),
)
@pytest.mark.slow
def test_they_agree_in_every_shape(batch: int, seq: int, heads: int, d_head: int, rotary: int, d_mlp: int, rate: float):
    assume(heads * d_head >= 8)  # the norm of two or three numbers is their signs, and its gradient is ill-conditioned
    shape = {"heads": heads, "d_model": heads * d_head, "d_mlp": d_mlp, "rotary_dim": min(2 * rotary, d_head) or None}
    model = small(layers=1, dropout=rate, attention_dropout=rate, **shape)
    ids = tokens(batch, seq)
    exact = small(layers=1, dropout=rate, attention_dropout=rate, **shape).double()
    exact.load_state_dict(model.state_dict())
    assert_close(gradients(model, ids, Dropout(1)), gradients(exact, ids, Dropout(1)))


def test_the_path_is_taken_by_short_float32_inputs_on_a_cpu_only():
    x = torch.zeros(2, 17, 8)
    assert fused.serves(x)
    assert not fused.serves(x.double())
    assert not fused.serves(x.to("meta"))
    assert not fused.serves(torch.zeros(1, 1000, 8))
    with torch.autocast("cpu", torch.bfloat16):  # torch chooses the kinds of numbers then
        assert not fused.serves(x)


def test_a_gradient_of_the_gradient_is_refused_and_not_taken_for_zero():
    model = small(layers=2)
    *_, x = model.residuals(tokens())
    (gradient,) = torch.autograd.grad(x.square().sum(), model.embedding.weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_prediction_takes_it_too_and_agrees_with_the_plain_path():
    model, ids = small(), tokens()
    with torch.no_grad():
        ours = model(ids)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("whatwhere.model.gptj.serves", lambda _: False)
            torch.testing.assert_close(ours, model(ids), rtol=1e-5, atol=1e-5)


def test_large_activations_neither_overflow_nor_lose_their_sign():
    model = small(layers=1, init_std=8.0)
    assert_close(gradients(model, tokens()), gradients(model.double(), tokens()), rtol=1e-3)


def test_a_number_that_is_none_stays_visible():
    model = small(layers=2)
    with torch.no_grad():
        next(model.layers()).w_in[3, 3] = math.nan
    for product in (torch.float32, torch.bfloat16):
        model.multiply_in(product)
        loss, _ = gradients(model, tokens())
        assert loss.isnan()


def test_products_in_bfloat16_change_the_gradient_by_little_and_leave_prediction_alone():
    model = small()
    _, exact = gradients(model, tokens())
    predicted = model.predict(tokens())
    model.multiply_in(torch.bfloat16)
    _, rounded = gradients(model, tokens())
    for one, other in zip(exact, rounded, strict=True):
        assert one.dtype == other.dtype == torch.float32
        assert 0 < float((one - other).norm() / one.norm()) < 0.05
    assert (model.predict(tokens()) == predicted).all()


def test_rounding_to_bfloat16_is_that_of_torch():
    values = torch.randn(64, 128, generator=torch.Generator().manual_seed(0))
    library = kernels().library
    assert library is not None
    shape = fused.Shape(1, 64, 64, 1, 128, 1, 0, 1, 1, 1.0, 0.0)
    bias, written = torch.zeros(128), torch.empty(64, 128, dtype=torch.bfloat16)
    scratch = torch.empty(library.scratch_size(fused.byref(shape)))
    library.residual_backward(
        fused.byref(shape), values.data_ptr(), None, written.data_ptr(), bias.data_ptr(), scratch.data_ptr()
    )
    assert torch.equal(written, values.bfloat16())
    torch.testing.assert_close(bias, values.sum(0), rtol=1e-5, atol=1e-5)


def test_a_batch_without_sequences_has_a_gradient_of_nothing():
    loss, none = gradients(small(), tokens()[:0])
    assert loss == 0
    assert not any(gradient.any() for gradient in none)


@pytest.mark.parametrize("strange", [torch.zeros(4, 4).t(), torch.zeros(4, dtype=torch.float64)])
def test_what_is_not_dense_or_of_another_kind_is_never_handed_to_compiled_code(strange: Tensor):
    with pytest.raises(AssertionError):
        fused.at(torch.zeros(4), strange)
