"""AdamW with a clipped gradient, a part of the parameters on each core.

Weight decay applies to matrices only, not to biases and norms. Each part is a torch optimiser; its moments are saved
under the names of the parameters, so a run may continue with another number of parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from whatwhere.machine.threads import parallel_map, split
from whatwhere.model.gptj import GPTJ
from whatwhere.training.config import TrainingConfig


class Optimiser:
    """AdamW with the weight decay, betas and gradient clipping of a configuration."""

    def __init__(self, model: GPTJ, config: TrainingConfig) -> None:
        self._names, self._parameters = zip(*model.named_parameters(), strict=True)
        self._most = config.clip
        parts = torch.get_num_threads() if config.device == "cpu" else 1
        self._parts = [part for part in split(range(len(self._names)), parts) if part]
        self._optimisers = [self._optimiser(part, config) for part in self._parts]

    def _optimiser(self, part: range, config: TrainingConfig) -> torch.optim.AdamW:
        mine = [self._parameters[i] for i in part]
        groups = [
            {"params": [parameter for parameter in mine if parameter.ndim >= 2], "weight_decay": config.weight_decay},
            {"params": [parameter for parameter in mine if parameter.ndim < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=config.schedule.peak, betas=config.betas, fused=True)

    def step(self, gradients: Sequence[Tensor], rate: float) -> None:
        """One step at the given learning rate; it overwrites the gradients."""

        # torch's own optimisers use these private functions: one call for many small tensors
        def norms(part: range) -> Sequence[Tensor]:
            return torch._foreach_norm([gradients[i] for i in part])  # pyright: ignore[reportPrivateImportUsage]

        def move(number: int) -> None:
            mine = self._parts[number]
            torch._foreach_mul_([gradients[i] for i in mine], shrink)  # pyright: ignore[reportPrivateImportUsage]
            for i in mine:
                self._parameters[i].grad = gradients[i]
            for group in self._optimisers[number].param_groups:
                group["lr"] = rate
            self._optimisers[number].step()
            self._optimisers[number].zero_grad()

        norm = torch.stack([norm for part in parallel_map(norms, self._parts) for norm in part]).norm()
        shrink = (self._most / (norm + 1e-6)).clamp(max=1)
        parallel_map(move, range(len(self._parts)))

    def moments(self) -> dict[str, np.ndarray]:
        """The moments of the optimiser, by ``PARAMETER.MOMENT``."""
        return {
            f"{name}.{moment}": value.cpu().numpy()
            for name, parameter in zip(self._names, self._parameters, strict=True)
            for optimiser in self._optimisers
            for moment, value in optimiser.state.get(parameter, {}).items()
        }

    def restore(self, moments: Mapping[str, np.ndarray]) -> None:
        """Restores the result of :meth:`moments`."""
        for part, optimiser in zip(self._parts, self._optimisers, strict=True):
            for i in part:
                parameter, prefix = self._parameters[i], f"{self._names[i]}."
                optimiser.state[parameter] = {
                    name.removeprefix(prefix): torch.from_numpy(value).to(parameter.device)
                    for name, value in moments.items()
                    if name.startswith(prefix)
                }
