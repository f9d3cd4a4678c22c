"""The plan of a reproduction: which models, with which seeds, and the jobs.

DIR/number, DIR/letter         a run each, with a folder for each study
DIR/letter-control             the letter task on leak-free data (preset paper, or --control)
DIR/seeds/SEED/number ...      further seeds
DIR/theorems                   studies that need no model
DIR/figures, claims.*, timing.csv, report.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from whatwhere.studies.study import Study
    from whatwhere.training.config import TrainingConfig
    from whatwhere.work.executor import Job

ARMS = {"number": {"name": "number"}, "letter": {"name": "letter"}}
CONTROL = {"letter-control": {"name": "letter", "generator": "decoy"}}
"""The tasks of each run, by the name of its folder."""
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Plan:
    """What is reproduced."""

    preset: Annotated[
        str, "Preset of the trainings: short (minutes), paper (the authors' recipe), smoke (a try-out)."
    ] = "short"
    seed: Annotated[int, "Seed of the first training of each task."] = 0
    seeds: Annotated[int, "Trainings of each task; every claim then has its spread over them."] = 1
    control: Annotated[bool | None, "Train the letter task on leak-free data, too (default: with preset paper)."] = None
    from_zoo: Annotated[bool, "Take the shipped models with their histories and results; train nothing."] = False
    threads: Annotated[int, "CPU threads of each training."] = 1

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise WhatwhereError(f"expected 1 to {MOST_SEEDS:,} seeds, got {self.seeds:,}.")
        if self.from_zoo and (self.preset, self.seed, self.seeds, self.control) != ("short", 0, 1, None):
            raise WhatwhereError(
                "--from-zoo takes what ships: expected no --preset, --seed, --seeds and --control beside it, got one. "
                "Leave --from-zoo out to train other models."
            )
        from whatwhere.tasks import make_task
        from whatwhere.training.presets import preset

        preset(self.preset, make_task("number"))

    @property
    def with_control(self) -> bool:
        """Whether the letter task is also trained on leak-free data."""
        return self.preset == "paper" if self.control is None else self.control

    @property
    def baseline(self) -> str:
        """The name of its record in the baseline of claims."""
        return "zoo" if self.from_zoo else self.preset

    def decisive(self) -> dict[str, object]:
        """The settings that are fixed for a directory; seeds and the control may be added later."""
        return {"preset": self.preset, "seed": self.seed, "from_zoo": self.from_zoo}

    def runs(self) -> Iterator[PlannedRun]:
        """Every run, the first seed first."""
        from whatwhere.machine.device import choose_device
        from whatwhere.tasks import make_task
        from whatwhere.training.presets import preset
        from whatwhere.zoo.load import SHIPPED
        from whatwhere.zoo.take import further_seeds

        if self.from_zoo:
            yield from (PlannedRun(name, None, name) for name in SHIPPED)
            for place in further_seeds():
                _, seed, name = place.split("/")
                yield PlannedRun(place, None, f"{name}-{seed}", has_model=False)
            return
        for seed in range(self.seed, self.seed + self.seeds):
            for name, task in (ARMS | CONTROL if self.with_control else ARMS).items():
                base = preset(self.preset, make_task(**task))
                config = replace(base, seed=seed, device=choose_device("auto"), threads=self.threads)
                place = name if seed == self.seed else f"seeds/{seed}/{name}"
                yield PlannedRun(place, config, f"{name}{'' if seed == self.seed else f'-{seed}'}")


@dataclass(frozen=True)
class PlannedRun:
    """One run of a reproduction."""

    place: str
    """Its folder below the directory of the reproduction."""
    config: TrainingConfig | None
    """None for what ships."""
    label: str
    """``number``, ``letter-11``: part of the names of its jobs."""
    has_model: bool = True
    """Whether there is a model to measure; further seeds ship as results alone."""


def jobs_of(plan: Plan, directory: Path) -> list[Job]:
    """All jobs: trainings first, then the studies."""
    from whatwhere.store.manifest import Manifest
    from whatwhere.studies import STUDIES, study_named
    from whatwhere.work.executor import Job
    from whatwhere.zoo.load import SHIPPED_AT

    def measured(study: Study, run: PlannedRun | None = None, needs: tuple[str, ...] = ()) -> Job:
        """A study with the settings of the shipped results, or of the preset, or its defaults."""
        home, name = (directory, study.name) if run is None else (directory / run.place, f"{study.name}-{run.label}")
        settings = dict({"smoke": study.smoke, "short": study.short}.get(plan.baseline, {}))
        if run is not None and run.config is None and (shipped := Manifest(SHIPPED_AT / run.label / study.name)).exists:
            settings = shipped.record.settings  # results that ship are kept as they are
        about = {
            "study": study.name,
            "source": None if run is None else str(home),
            "directory": str(home / study.name),
            "settings": settings,
        }
        return Job(name, f"{name}: {study.question}", "whatwhere.work.jobs:run_study", about, needs)

    made: list[Job] = []
    studies: list[Job] = []
    asked = [study_named(name) for name in STUDIES]
    for run in plan.runs():
        place = str(directory / run.place)
        if run.config is None:
            model = Job(f"zoo-{run.label}", f"{run.label} model taken", "whatwhere.work.jobs:take_shipped",
                        {"directory": place, "name": run.place})  # fmt: skip
        else:
            model = Job(f"train-{run.label}", f"{run.label} model trained", "whatwhere.work.jobs:train_run",
                        {"directory": place, "config": run.config.to_dict()},
                        gpu=run.config.device == "cuda")  # fmt: skip
        made.append(model)
        if run.has_model:
            studies += [measured(study, run, (model.name,)) for study in asked if study.subject.part == "run"]
    once = [measured(study) for study in asked if study.subject.part == "once"]
    return [*made, *once, *studies]


def choose(jobs: Sequence[Job], names: Sequence[str]) -> list[Job]:
    """The jobs of these names or groups (``train``, ``length-number``); all if there are none."""
    known = {name for job in jobs for name in (job.name, job.group)}
    for name in names:
        if name not in known:
            raise WhatwhereError(f"--only: expected a job or a group of {', '.join(sorted(known))}, got {name!r}.")
    return [job for job in jobs if not names or {job.name, job.group} & set(names)]
