"""Every figure of a reproduction, redrawn from what is on disk and gathered in ``DIR/figures``.

Each analysis draws beside its own tables; those figures are copied here under the name of their model, so that all can
be looked through in one place, each with its data as CSV. ``figures/index.csv`` says where that comes from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import whole_file, write_csv
from whatwhere.studies.claims_face import write_claims
from whatwhere.studies.dynamics.figures import draw_dynamics, draw_seeds
from whatwhere.studies.dynamics.summary_tables import draw_angles, draw_chat_models, draw_compute
from whatwhere.studies.figure_data import write_data
from whatwhere.studies.geometry.figures import draw_geometry
from whatwhere.studies.length.figures import draw_comparison, draw_length
from whatwhere.studies.length.generalisation import draw_generalisation
from whatwhere.studies.mechanism import figures as mechanism
from whatwhere.studies.mechanism.example_figures import draw_examples
from whatwhere.studies.mechanism.observation import Progress, silent
from whatwhere.studies.source import Source
from whatwhere.studies.theorems.figures import draw_theory
from whatwhere.studies.watched.figures import draw_watched
from whatwhere.studies.watched.tables import is_watched
from whatwhere.theory.verification import RESULT
from whatwhere.training.run import Run
from whatwhere.work.plan import TASKS, Plan
from whatwhere.work.reproduce import computing_stages
from whatwhere.work.stage import Stage

FOLDER = "figures"
_KINDS: dict[str, tuple[str, Callable[[Path], list[Path]]]] = {
    "mechanism": ("hops.csv", mechanism.draw),
    "geometry": ("gating.csv", draw_geometry),
    "length": ("breaks.csv", draw_length),
}
"""The analyses of a run: the last table of each, and what draws it."""


@dataclass(frozen=True)
class Gallery:
    """What was drawn, and what could not be for want of results."""

    figures: list[Path]
    """Files in ``DIR/figures``."""
    missing: list[str]
    """In words, with the command that makes them."""


@dataclass(frozen=True)
class _Part:
    """Figures that are drawn from one directory of results."""

    name: str
    source: Path
    sign: str
    """The last file of its results to be written: it is there if all are."""
    draw: Callable[[Path], list[Path]]
    made_by: str
    model: str = ""
    """Appended to the names of the copies."""

    @property
    def ready(self) -> bool:
        """Whether there are results to draw from."""
        return (self.source / self.sign).is_file()

    def figures(self) -> list[Path]:
        """What was drawn beside the tables."""
        return sorted(path for path in self.source.iterdir() if path.suffix in (".pdf", ".png"))


def draw_everything(directory: Path, progress: Progress = silent) -> Gallery:
    """Draws what there are results for.

    Args:
        directory: of a reproduction, of a single run, or of somebody's own training that was watched.
        progress: told how far the work is.

    Raises:
        WhatwhereError: there is nothing to draw from, or a table is damaged.
    """
    if is_watched(directory):
        return _draw_watched(directory)
    draw_parts(directory, None, progress)
    return gather(directory, progress)


def draw_parts(directory: Path, model: str | None, progress: Progress = silent) -> None:
    """Draws the figures of each analysis beside its tables.

    Args:
        directory: of a reproduction, or of a single run.
        model: only the analyses of this one (``number``, ``letter``, or ``""`` for the theory); None for all.
        progress: told how far the work is.
    """
    parts = [part for part in _parts(directory, _runs(directory)) if part.ready and model in (None, part.model)]
    for done, part in enumerate(parts):
        progress(f"drawing {part.name}", done, len(parts))
        part.draw(part.source)


def gather(directory: Path, progress: Progress = silent) -> Gallery:
    """Copies the figures of each analysis to one place, and draws there those that show both models.

    Raises:
        WhatwhereError: there is nothing to draw from, or a table is damaged.
    """
    runs = _runs(directory)
    parts = _parts(directory, runs)
    ready = [part for part in parts if part.ready]
    if not ready:
        raise WhatwhereError(
            f"a reproduction or a scored run was expected, and {directory} has no results to draw. "
            f"Make them with: whatwhere reproduce --out {directory}"
        )
    progress("drawing both models together", 0, 1)
    into = directory / FOLDER
    drawn = [
        (_copy(file, into, part.model), _below(directory, part.source)) for part in ready for file in part.figures()
    ]
    drawn += _draw_together(directory, runs, ready)
    write_csv(into / "index.csv", ["figure", "file", "data_in"], [(file.stem, file.name, data) for file, data in drawn])
    progress("figures drawn", 1, 1)
    missing = [f"{part.name}: {part.made_by}" for part in parts if not part.ready]
    return Gallery([file for file, _ in drawn], missing)


def all_stages(plan: Plan) -> list[Stage]:
    """The whole reproduction: what computes, then the figures and the claims, which read what the others left."""
    before = computing_stages(plan)
    drawing = [_draw_stage(before, model) for model in ("", *TASKS)]
    needs = tuple(stage.name for stage in (*before, *drawing))

    def judge(directory: Path, _: Progress) -> None:
        write_claims(directory)

    def draw(directory: Path, progress: Progress) -> None:
        gather(directory, progress)

    figures = tuple(f"{FOLDER}/*{suffix}" for suffix in (".pdf", ".png", ".csv"))
    return [
        *before,
        *drawing,
        Stage("figures", "figures drawn", needs, figures, {}, draw),
        Stage("claims", "claims judged", needs, ("claims.*",), {}, judge),
    ]


def _draw_stage(before: Sequence[Stage], model: str) -> Stage:
    """Draws the analyses of one model, or the theory, as soon as they are there."""
    kinds = [f"{kind}-{model}" for kind in _KINDS] if model else ["theory"]
    needs = tuple(stage.name for stage in before if stage.name in kinds)
    folders = [f"{model}/{kind}" for kind in _KINDS] if model else ["theory"]
    leaves = tuple(f"{folder}/*{suffix}" for folder in folders for suffix in (".pdf", ".png"))

    def run(directory: Path, progress: Progress) -> None:
        draw_parts(directory, model, progress)

    name = model or "theory"
    return Stage(f"draw-{name}", f"figures of the {f'{name} model' if model else name} drawn", needs, leaves, {}, run)


def is_reproduction(directory: Path) -> bool:
    """Whether a directory is that of a reproduction, rather than of a single run."""
    return not is_watched(directory) and directory not in _runs(directory).values()


def _draw_watched(directory: Path) -> Gallery:
    figures = draw_watched(directory, directory / FOLDER)
    rows = [(file.stem, file.name, ".") for file in figures]
    write_csv(directory / FOLDER / "index.csv", ["figure", "file", "data_in"], rows)
    return Gallery(figures, [])


def _runs(directory: Path) -> dict[str, Path]:
    """The runs of a reproduction by task, or the one run that the directory itself is."""
    if Run(directory).exists:
        return {Run(directory).task.name: directory}
    return {task: directory / task for task in TASKS if Run(directory / task).exists}


def _seeds(directory: Path) -> dict[str, dict[int, Path]]:
    """The scored runs of every seed of a reproduction, by task; a task without any is left out."""
    places = [directory, *(other.directory for other in Source(directory).seeds())]
    runs = [Run(place / task) for task in TASKS for place in places]
    found: dict[str, dict[int, Path]] = {}
    for run in (run for run in runs if run.exists and run.scores_path.is_file()):
        found.setdefault(run.task.name, {})[run.config.seed] = run.directory
    return found


def _parts(directory: Path, runs: dict[str, Path]) -> list[_Part]:
    parts = []
    if is_reproduction(directory):
        theory = directory / "theory"
        parts.append(_Part("theory", theory, RESULT, draw_theory, f"whatwhere theory --out {theory}"))
    for task, run in runs.items():
        # Scores are drawn with those of the other model, in _draw_together.
        parts.append(_Part(f"{task} scores", run, "scores.csv", lambda _: [], f"whatwhere score {run}"))
        for kind, (sign, draw) in _KINDS.items():
            parts.append(_Part(f"{task} {kind}", run / kind, sign, draw, f"whatwhere {kind} {run}", task))
    return parts


def _draw_together(directory: Path, runs: dict[str, Path], ready: Sequence[_Part]) -> list[tuple[Path, str]]:
    """The figures that show the models side by side, and where their data lies."""
    names, into = {part.name for part in ready}, directory / FOLDER
    drawn: list[tuple[Path, str]] = []
    scored = [run for task, run in runs.items() if f"{task} scores" in names]
    if scored:
        drawn += [(file, FOLDER) for file in draw_dynamics(scored, into)]
    seeds = _seeds(directory)
    if any(len(found) > 1 for found in seeds.values()):
        drawn += [(file, FOLDER) for file in draw_seeds(seeds, into)]
    lengths = {task: run / "length" for task, run in runs.items() if f"{task} length" in names}
    if len(lengths) > 1:
        data = " ".join(_below(directory, source) for source in lengths.values())
        drawn += [(file, data) for file in draw_comparison(lengths, into)]
    return drawn + [(file, FOLDER) for file in _draw_paper(directory, runs, names)]


def _draw_paper(directory: Path, runs: dict[str, Path], names: set[str]) -> list[Path]:
    """Figures 1 and 5 and the tables of the paper, as far as there are results; their data goes beside them."""
    into = directory / FOLDER
    drawn: list[Path] = []
    flows = [run / "mechanism" / "flow.json" for task, run in runs.items() if f"{task} mechanism" in names]
    if flows:
        drawn += draw_examples(flows, into)
    geometries = {task: run / "geometry" for task, run in runs.items() if f"{task} geometry" in names}
    if geometries:
        drawn += draw_angles(geometries, into)
    if is_reproduction(directory):
        lengths = {task: run / "length" for task, run in runs.items() if f"{task} length" in names}
        if lengths and "theory" in names:
            drawn += draw_generalisation(directory, lengths, into)
        drawn += [*draw_compute(directory, into), *draw_chat_models(directory, into)]
    return drawn


def _below(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


def _copy(file: Path, into: Path, model: str) -> Path:
    """A copy named ``figure-3-flow-number.png``, with its data beside it."""
    to = into / f"{file.stem}{f'-{model}' if model else ''}{file.suffix}"
    with whole_file(to) as beside:
        shutil.copyfile(file, beside)
    if to.suffix == ".png":  # once for the pair
        write_data(file.stem, file.parent, to)
    return to
