"""The paper in stages: data, both trainings, scores of every checkpoint, theory, mechanism, geometry, length.

    DIR/data/TASK/           manifest and shortcut report of the dataset that is trained on
    DIR/number, DIR/letter   the runs, with scores.csv, mechanism/, geometry/, length/ and examples/ inside
    DIR/seeds/SEED/TASK      the same of every further seed
    DIR/theory/              theory.json and the data of its figures
    DIR/stages/              the record of each stage

Figures, claims and the page come after these, in ``whatwhere.work.reproduction``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import write_json
from whatwhere.studies.dynamics.checkpoints import score_run
from whatwhere.studies.dynamics.history import Settings
from whatwhere.studies.geometry.measure import measure_geometry, steps_of
from whatwhere.studies.length.measure import LengthPlan, measure_length
from whatwhere.studies.mechanism.examples import measure_examples
from whatwhere.studies.mechanism.measure import measure
from whatwhere.studies.mechanism.observation import Progress
from whatwhere.studies.results import Results, fingerprint
from whatwhere.tasks.shortcuts import shortcuts, write_shortcuts
from whatwhere.theory.verification import check_paper
from whatwhere.training.config import TrainingConfig
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import Progress as Step
from whatwhere.training.loop import train
from whatwhere.training.run import Run
from whatwhere.work.plan import TASKS, Plan
from whatwhere.work.stage import Stage
from whatwhere.zoo.take import is_shipped, manifest, take


def computing_stages(plan: Plan) -> list[Stage]:
    """Everything but the report, in order; trainings first, as all else waits for them.

    Raises:
        WhatwhereError: there is no such preset.
    """
    configs = plan.configs(plan.seed)
    made, analysed = [], []
    for seed in range(plan.seed, plan.seed + plan.seeds):
        for task in TASKS:
            place = _Place(task, seed, first=seed == plan.seed)
            if plan.from_zoo:
                model = _zoo_stage(place)
                made.append(model)
            else:
                model = _train_stage(place, plan.configs(seed)[task])
                made.append(model)
                analysed.append(_score_stage(place, model, Settings(inputs=plan.sizes.score)))
            analysed += [
                _length_stage(place, model, plan.sizes.length),
                _mechanism_stage(place, model, plan.sizes.mechanism),
                _geometry_stage(place, model, plan.sizes.geometry),
                _examples_stage(place, model),
            ]
    theory = Stage("theory", "theorems checked", (), ("theory/*.json", "theory/*.csv"), {}, _check_theory)
    order = ("score", "length", "mechanism", "geometry", "examples")
    analysed.sort(key=lambda stage: order.index(stage.group))  # the longest first, so that all cores end together
    return [*made, _data_stage(configs), theory, *analysed]


@dataclass(frozen=True)
class _Place:
    """Where a run lies and what its stages are called."""

    task: str
    seed: int
    first: bool
    """Whether it is of the first seed, which has the plain names."""

    @property
    def path(self) -> str:
        return self.task if self.first else f"seeds/{self.seed}/{self.task}"

    @property
    def title(self) -> str:
        return f"{self.task} model" + ("" if self.first else f" of seed {self.seed}")

    def stage(self, kind: str) -> str:
        """``train-number``, or ``train-number-1`` for a further seed."""
        return f"{kind}-{self.task}" + ("" if self.first else f"-{self.seed}")

    def files(self, *names: str) -> tuple[str, ...]:
        return tuple(f"{self.path}/{name}" for name in names)


def _data_stage(configs: dict[str, TrainingConfig]) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        for done, (task, config) in enumerate(configs.items()):
            progress(f"{task} task: what leaks", done, len(configs))
            dataset = config.task.dataset(config.dataset_size, config.seed)
            write_json(directory / "data" / task / "manifest.json", dataset.manifest())
            write_shortcuts(directory / "data" / task / "shortcuts.csv", shortcuts(config.task, dataset.test))

    settings = {
        task: {"task": config.task.to_dict(), "size": config.dataset_size, "seed": config.seed}
        for task, config in configs.items()
    }
    return Stage("data", "datasets and their shortcuts", (), ("data/*/*",), settings, run)


_MODEL_FILES = ("config.json", "metrics.csv", "test.json", "checkpoints/*.safetensors")


def _train_stage(place: _Place, config: TrainingConfig) -> Stage:
    def check(directory: Path) -> None:
        run = Run(directory / place.path)
        if not run.exists:
            return
        if is_shipped(run):
            raise WhatwhereError(
                f"{run.directory} holds the shipped model, and a training was asked for. "
                "Go on with --from-zoo if that is what you mean; otherwise choose another --out."
            )
        if run.config.decisive() != config.decisive():
            there = run.config
            raise WhatwhereError(
                f"preset {config.preset!r} and seed {config.seed} were asked for, and {run.directory} holds another "
                f"run (preset {there.preset!r}, seed {there.seed}). Go on with --preset {there.preset} --seed "
                f"{there.seed} if that is what you mean; otherwise choose another --out."
            )

    def run(directory: Path, progress: Progress) -> None:
        run = Run(directory / place.path)
        if not run.exists:
            run.create(config)

        def observe(step: Step) -> None:
            hops = " ".join(f"{accuracy:.2f}" for accuracy in step.by_hop) or "-"
            progress(f"{step.phase}, accuracy by hops {hops}", step.step, step.longest)

        train(run, observe)
        progress("test split", run.steps()[-1], run.steps()[-1])
        measure_on_test_split(run)

    return Stage(
        place.stage("train"), f"{place.title} trained", (), place.files(*_MODEL_FILES), config.decisive(), run,
        costly=True, check=check,
    )  # fmt: skip


def _zoo_stage(place: _Place) -> Stage:
    def check(directory: Path) -> None:
        run = Run(directory / place.path)
        if run.exists and not is_shipped(run):
            raise WhatwhereError(
                f"the shipped models were asked for, and {run.directory} holds a run that was trained here. "
                "Leave --from-zoo out to go on with it, or choose another --out."
            )

    def run(directory: Path, _: Progress) -> None:
        take(place.task, directory / place.path)

    leaves = place.files(*_MODEL_FILES, "scores.csv")
    return Stage(place.stage("zoo"), f"{place.title} taken", (), leaves, manifest(place.task), run, check=check)


def _score_stage(place: _Place, model: Stage, settings: Settings) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        score_run(
            Run(directory / place.path),
            settings,
            observer=lambda step, done, total: progress(f"step {step}", done, total),
        )

    return Stage(
        place.stage("score"), f"{place.title} scored", (model.name,), place.files("scores.csv"), asdict(settings), run
    )


def _check_theory(directory: Path, progress: Progress) -> None:
    check_paper(directory / "theory", progress)


def _mechanism_stage(place: _Place, model: Stage, inputs: int) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        loaded = Run(directory / place.path).load()
        results = Results(directory / place.path / "mechanism")
        results.begin({"model": fingerprint(loaded), "inputs": inputs, "seed": 0})
        measure(loaded, results, inputs=inputs, progress=progress)

    return _analysis(place, model, "mechanism", "who looks where", {"inputs": inputs}, run)


def _geometry_stage(place: _Place, model: Stage, inputs: int) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        run = Run(directory / place.path)
        loaded, done = run.load(), 0
        total = steps_of(loaded, run.task)

        def observe() -> None:
            nonlocal done
            done += 1
            progress("frequencies and planes", done, total)

        measure_geometry(loaded, run.task, run.directory, inputs=inputs, observer=observe)

    return _analysis(place, model, "geometry", "frequencies and planes", {"inputs": inputs}, run)


def _length_stage(place: _Place, model: Stage, plan: LengthPlan) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        run = Run(directory / place.path)
        measure_length(run.load(), run.task, run.directory, plan, observer=progress)

    return _analysis(place, model, "length", "longer inputs", asdict(plan), run)


def _examples_stage(place: _Place, model: Stage) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        run = Run(directory / place.path)
        measure_examples(run.load(), run.task, run.directory, progress=progress)

    return _analysis(place, model, "examples", "examples to look at", {}, run)


def _analysis(
    place: _Place,
    model: Stage,
    kind: str,
    title: str,
    settings: Mapping[str, object],
    run: Callable[[Path, Progress], None],
) -> Stage:
    """A stage that reads the last model of a run."""
    leaves = place.files(f"{kind}/*.csv", f"{kind}/*.json")
    return Stage(place.stage(kind), f"{place.title}: {title}", (model.name,), leaves, settings, run)
