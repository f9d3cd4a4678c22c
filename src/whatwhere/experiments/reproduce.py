"""The paper in stages: data, both trainings, scores of every checkpoint, theory, mechanism, geometry, length.

    DIR/data/TASK/           manifest and shortcut report of the dataset that is trained on
    DIR/number, DIR/letter   the runs, with scores.csv, mechanism/, geometry/ and length/ inside
    DIR/theory/              theory.json and the data of its figures
    DIR/stages/              the record of each stage

Figures come after these, in ``whatwhere.report.reproduction``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.experiments.geometry import measure_geometry, steps_of
from whatwhere.experiments.length import LengthPlan, measure_length
from whatwhere.experiments.mechanism import measure
from whatwhere.experiments.observation import Progress
from whatwhere.experiments.results import Results, fingerprint
from whatwhere.experiments.stages import Stage
from whatwhere.heads.checkpoints import score_run
from whatwhere.heads.history import Settings
from whatwhere.storage import write_json
from whatwhere.tasks import make_task
from whatwhere.tasks.shortcuts import shortcuts, write_shortcuts
from whatwhere.theory.verification import check_paper
from whatwhere.training.config import TrainingConfig
from whatwhere.training.device import choose_device
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import Progress as Step
from whatwhere.training.loop import train
from whatwhere.training.presets import preset as preset_named
from whatwhere.training.run import Run

TASKS = ("number", "letter")
NOT_YET = (
    "claims: each statement of the paper with its verdict",
    "the interactive page",
    "the benchmark for chat models (Figure 5C and 5D, its table)",
)
"""What the paper or the plan has and these stages lack."""
_OF_THE_MACHINE = ("device", "threads", "precision")
"""Fields of a training configuration in which a run may differ from what would be begun here today."""


@dataclass(frozen=True)
class Sizes:
    """How many inputs each analysis takes; the defaults are those of the commands."""

    score: int = 512
    mechanism: int = 2000
    geometry: int = 512
    length: LengthPlan = field(default_factory=LengthPlan)


SMOKE = Sizes(score=16, mechanism=400, geometry=16, length=LengthPlan(16, lengths=(33,), varied_lengths=(33,)))


def computing_stages(preset: str = "laptop", seed: int = 0) -> list[Stage]:
    """Everything but the figures, in order.

    Args:
        preset: of the trainings; ``smoke`` takes few inputs everywhere.
        seed: of the trainings.

    Raises:
        WhatwhereError: there is no such preset.
    """
    sizes = SMOKE if preset == "smoke" else Sizes()
    configs = {
        task: replace(preset_named(preset, make_task(task)), seed=seed, device=choose_device("auto")) for task in TASKS
    }
    both: list[Callable[[str], Stage]] = [
        lambda task: _train_stage(configs[task]),
        lambda task: _score_stage(task, Settings(inputs=sizes.score)),
        lambda task: _mechanism_stage(task, sizes.mechanism),
        lambda task: _geometry_stage(task, sizes.geometry),
        lambda task: _length_stage(task, sizes.length),
    ]
    trained, scored, *analysed = [[make(task) for task in TASKS] for make in both]
    theory = Stage("theory", "theorems checked", (), ("theory/*.json", "theory/*.csv"), {}, _check_theory)
    return [_data_stage(configs), *trained, *scored, theory, *(stage for kind in analysed for stage in kind)]


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


def _train_stage(config: TrainingConfig) -> Stage:
    task = config.task.name

    def check(directory: Path) -> None:
        run = Run(directory / task)
        if run.exists and _decisive(run.config) != _decisive(config):
            there = run.config
            raise WhatwhereError(
                f"preset {config.preset!r} and seed {config.seed} were asked for, and {run.directory} holds another "
                f"run (preset {there.preset!r}, seed {there.seed}). Go on with --preset {there.preset} --seed "
                f"{there.seed} if that is what you mean; otherwise choose another --out."
            )

    def run(directory: Path, progress: Progress) -> None:
        run = Run(directory / task)
        if not run.exists:
            run.create(config)

        def observe(step: Step) -> None:
            hops = " ".join(f"{accuracy:.2f}" for accuracy in step.by_hop) or "-"
            progress(f"{step.phase}, accuracy by hops {hops}", step.step, step.longest)

        train(run, observe)
        progress("test split", run.steps()[-1], run.steps()[-1])
        measure_on_test_split(run)

    leaves = tuple(
        f"{task}/{file}" for file in ("config.json", "metrics.csv", "test.json", "checkpoints/*.safetensors")
    )
    return Stage(f"train-{task}", f"{task} model trained", (), leaves, _decisive(config), run, costly=True, check=check)


def _decisive(config: TrainingConfig) -> dict[str, object]:
    return {name: value for name, value in config.to_dict().items() if name not in _OF_THE_MACHINE}


def _score_stage(task: str, settings: Settings) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        score_run(
            Run(directory / task), settings, observer=lambda step, done, total: progress(f"step {step}", done, total)
        )

    return Stage(
        f"score-{task}", f"{task} model scored", (f"train-{task}",), (f"{task}/scores.csv",), asdict(settings), run
    )


def _check_theory(directory: Path, progress: Progress) -> None:
    check_paper(directory / "theory", progress)


def _mechanism_stage(task: str, inputs: int) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        model = Run(directory / task).load()
        results = Results(directory / task / "mechanism")
        results.begin({"model": str(directory / task), "weights": fingerprint(model), "inputs": inputs, "seed": 0})
        measure(model, results, inputs=inputs, progress=progress)

    return _analysis("mechanism", task, "who looks where", {"inputs": inputs}, run)


def _geometry_stage(task: str, inputs: int) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        loaded = Run(directory / task)
        model, done = loaded.load(), 0
        total = steps_of(model, loaded.task)

        def observe() -> None:
            nonlocal done
            done += 1
            progress("frequencies and planes", done, total)

        measure_geometry(model, loaded.task, loaded.directory, inputs=inputs, observer=observe)

    return _analysis("geometry", task, "frequencies and planes", {"inputs": inputs}, run)


def _length_stage(task: str, plan: LengthPlan) -> Stage:
    def run(directory: Path, progress: Progress) -> None:
        run = Run(directory / task)
        measure_length(run.load(), run.task, run.directory, plan, observer=progress)

    return _analysis("length", task, "longer inputs", asdict(plan), run)


def _analysis(
    kind: str, task: str, title: str, settings: dict[str, object], run: Callable[[Path, Progress], None]
) -> Stage:
    """A stage that reads the last model of a run."""
    leaves = (f"{task}/{kind}/*.csv", f"{task}/{kind}/*.json")
    return Stage(f"{kind}-{task}", f"{task} model: {title}", (f"train-{task}",), leaves, settings, run)
