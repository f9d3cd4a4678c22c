from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.training.config import TrainingConfig
from whatwhere.training.optimiser import Optimiser


@pytest.fixture(params=[1, 2, 5])
def cores(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def gradients(model: GPTJ, seed: int, size: float = 1.0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [size * torch.randn(parameter.shape, generator=generator) for parameter in model.parameters()]


def by_the_book(model: GPTJ, config: TrainingConfig, sizes: list[float], rate: float) -> None:
    """One optimiser of torch over all parameters, and torch's own clipping."""
    matrices = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
    others = [parameter for parameter in model.parameters() if parameter.ndim < 2]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=config.betas)
    for seed, size in enumerate(sizes):
        for parameter, gradient in zip(model.parameters(), gradients(model, seed, size), strict=True):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimiser.step()


@pytest.mark.usefixtures("cores")
def test_its_steps_are_those_of_one_adamw_with_a_clipped_gradient(config: TrainingConfig):
    ours, theirs = GPTJ(config.model), GPTJ(config.model)
    optimiser, sizes = Optimiser(ours, config), [1.0, 1e-4, 3.0]  # the second is below the largest norm
    for seed, size in enumerate(sizes):
        optimiser.step(gradients(ours, seed, size), rate=1e-2)
    by_the_book(theirs, config, sizes, rate=1e-2)
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
        assert one.grad is None, "a gradient is used up by its step"


def test_it_goes_on_from_what_it_remembers_in_any_number_of_parts(config: TrainingConfig, cores: int):
    whole, model = GPTJ(config.model), GPTJ(config.model)
    optimiser, first = Optimiser(whole, config), Optimiser(model, config)
    for each in (optimiser, first):
        each.step(gradients(model, 0), rate=1e-2)
    moments = {name: value.copy() for name, value in first.moments().items()}
    assert {name.rpartition(".")[0] for name in moments} == {name for name, _ in model.named_parameters()}
    torch.set_num_threads(cores + 1)
    second = Optimiser(model, config)
    second.restore(moments)
    optimiser.step(gradients(model, 1), rate=1e-2)
    second.step(gradients(model, 1), rate=1e-2)
    for one, other in zip(whole.parameters(), model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert all(np.array_equal(value, second.moments()[name]) for name, value in optimiser.moments().items())


def test_the_rate_decay_and_clip_of_the_configuration_count(config: TrainingConfig):
    moved = []
    for changes, rate in (({}, 1e-2), ({"weight_decay": 0.9}, 1e-2), ({"clip": 1e-9}, 1e-2), ({}, 2e-2)):
        model = GPTJ(config.model)
        before = model.head.weight.detach().clone()
        Optimiser(model, replace(config, **changes)).step(gradients(model, 0), rate)
        moved.append(float((model.head.weight.detach() - before).norm()))
    plain, decayed, clipped, faster = moved
    assert plain != decayed
    assert clipped < plain / 2
    assert faster == pytest.approx(2 * plain, rel=1e-3)


def test_matrices_decay_and_vectors_do_not(config: TrainingConfig):
    model = GPTJ(config.model)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimiser = Optimiser(model, replace(config, weight_decay=0.5))
    optimiser.step([torch.zeros_like(parameter) for parameter in model.parameters()], rate=0.1)
    for name, parameter in model.named_parameters():
        expected = before[name] * (0.95 if parameter.ndim >= 2 else 1)
        torch.testing.assert_close(parameter.detach(), expected)
    assert {parameter.ndim for parameter in model.parameters()} == {1, 2}


@pytest.mark.parametrize(("size", "clipped"), [(0.5, False), (4.0, True)])
def test_a_gradient_is_shortened_to_the_largest_norm_and_never_lengthened(
    config: TrainingConfig, size: float, clipped: bool
):
    model = GPTJ(config.model)
    ones = sum(parameter.numel() for parameter in model.parameters()) ** 0.5
    Optimiser(model, config).step(given := [torch.full_like(p, size / ones) for p in model.parameters()], rate=0.1)
    expected = (1 if clipped else size) / ones
    assert float(given[0].flatten()[0]) == pytest.approx(expected, rel=1e-4)


def test_an_optimiser_that_made_no_step_remembers_nothing(config: TrainingConfig):
    optimiser = Optimiser(GPTJ(config.model), config)
    assert optimiser.moments() == {}
    for part in optimiser._optimisers:
        assert {group["lr"] for group in part.param_groups} == {config.schedule.peak}
        assert {group["betas"] for group in part.param_groups} == {config.betas}
