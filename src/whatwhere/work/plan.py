"""What is reproduced, and with how many inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from whatwhere.errors import WhatwhereError
from whatwhere.machine.device import choose_device
from whatwhere.studies.length.measure import LengthPlan
from whatwhere.tasks import make_task
from whatwhere.training.config import TrainingConfig
from whatwhere.training.presets import preset as preset_named

TASKS = ("number", "letter")
LENGTHS = (25, 33, 49, 65, 97, 145, 325, 850)
"""Up to the longest that the paper names."""


@dataclass(frozen=True)
class Sizes:
    """How many inputs each analysis takes: fewer than the commands take by default, for the sake of time."""

    score: int = 256
    mechanism: int = 600
    geometry: int = 256
    length: LengthPlan = field(
        default_factory=lambda: LengthPlan(600, lengths=LENGTHS, varied_lengths=(33, 65, 145, 325))
    )


SMOKE = Sizes(score=16, mechanism=400, geometry=16, length=LengthPlan(16, lengths=(33,), varied_lengths=(33,)))


@dataclass(frozen=True)
class Plan:
    """What is reproduced."""

    preset: str = "laptop"
    """Of the trainings; ``smoke`` takes few inputs everywhere."""
    seed: int = 0
    """Of the first training of each task."""
    seeds: int = 1
    """Trainings of each task, with seeds that count up from the first."""
    from_zoo: bool = False
    """Take the shipped models and their histories instead of training."""
    threads: int = 1
    """CPU threads of each training."""

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise WhatwhereError(f"one seed or more was expected, and {self.seeds} arrived.")
        if self.from_zoo and (self.seed, self.seeds) != (0, 1):
            raise WhatwhereError(
                f"the shipped models have the seed 0 only, and {self.seeds} from {self.seed} on were asked for. "
                "Leave --from-zoo out to train others."
            )

    @property
    def baseline(self) -> str:
        """The name under which it is recorded which claims held."""
        return "zoo" if self.from_zoo and self.preset != "smoke" else self.preset

    @property
    def sizes(self) -> Sizes:
        """How many inputs each analysis takes."""
        return SMOKE if self.preset == "smoke" else Sizes()

    def configs(self, seed: int) -> dict[str, TrainingConfig]:
        """How each task is trained.

        Raises:
            WhatwhereError: there is no such preset.
        """
        device = choose_device("auto")
        return {
            task: replace(preset_named(self.preset, make_task(task)), seed=seed, device=device, threads=self.threads)
            for task in TASKS
        }
