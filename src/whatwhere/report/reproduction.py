"""Every figure of a reproduction, redrawn from what is on disk and gathered in ``DIR/figures``.

Each analysis draws beside its own tables; those figures are copied here under the name of their model, so that all can
be looked through in one place, each with its data as CSV. ``figures/index.csv`` says where that comes from.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whatwhere.adapters.watched import is_watched
from whatwhere.errors import WhatwhereError
from whatwhere.experiments.observation import Progress, silent
from whatwhere.experiments.plan import TASKS, Plan
from whatwhere.experiments.reproduce import computing_stages
from whatwhere.experiments.stage import Stage
from whatwhere.report import mechanism
from whatwhere.report.claims import write_claims
from whatwhere.report.dynamics import draw_dynamics
from whatwhere.report.examples import draw_examples
from whatwhere.report.figure_data import write_data
from whatwhere.report.generalisation import draw_generalisation
from whatwhere.report.geometry import draw_geometry
from whatwhere.report.length import draw_comparison, draw_length
from whatwhere.report.tables import draw_angles, draw_chat_models, draw_compute
from whatwhere.report.theory import draw_theory
from whatwhere.report.watched import draw_watched
from whatwhere.storage import whole_file, write_csv
from whatwhere.theory.verification import RESULT
from whatwhere.training.run import Run

FOLDER = "figures"


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
    runs = _runs(directory)
    parts = _parts(directory, runs)
    ready = [part for part in parts if (part.source / part.sign).is_file()]
    if not ready:
        raise WhatwhereError(
            f"a reproduction or a scored run was expected, and {directory} has no results to draw. "
            f"Make them with: whatwhere reproduce --out {directory}"
        )
    into = directory / FOLDER
    drawn: list[tuple[Path, str]] = []
    for done, part in enumerate(ready):
        progress(f"drawing {part.name}", done, len(ready) + 1)
        files = part.draw(part.source)
        drawn += [(_copy(file, into, part.model), _below(directory, part.source)) for file in files]
    progress("drawing both models together", len(ready), len(ready) + 1)
    drawn += _draw_together(directory, runs, ready)
    write_csv(into / "index.csv", ["figure", "file", "data_in"], [(file.stem, file.name, data) for file, data in drawn])
    progress("figures drawn", len(ready) + 1, len(ready) + 1)
    missing = [f"{part.name}: {part.made_by}" for part in parts if part not in ready]
    return Gallery([file for file, _ in drawn], missing)


def all_stages(plan: Plan) -> list[Stage]:
    """The whole reproduction: what computes, then the figures and the claims, which read what the others left."""
    before = computing_stages(plan)
    needs = tuple(stage.name for stage in before)

    def draw(directory: Path, progress: Progress) -> None:
        draw_everything(directory, progress)

    def judge(directory: Path, _: Progress) -> None:
        write_claims(directory)

    figures = tuple(f"{FOLDER}/*{suffix}" for suffix in (".pdf", ".png", ".csv"))
    return [
        *before,
        Stage("figures", "figures drawn", needs, figures, {}, draw),
        Stage("claims", "claims judged", needs, ("claims.*",), {}, judge),
    ]


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


def _parts(directory: Path, runs: dict[str, Path]) -> list[_Part]:
    parts = []
    if is_reproduction(directory):
        theory = directory / "theory"
        parts.append(_Part("theory", theory, RESULT, draw_theory, f"whatwhere theory --out {theory}"))
    for task, run in runs.items():
        # Scores are drawn with those of the other model, in _draw_together.
        parts.append(_Part(f"{task} scores", run, "scores.csv", lambda _: [], f"whatwhere score {run}"))
        for kind, sign, draw in (
            ("mechanism", "hops.csv", mechanism.draw),
            ("geometry", "gating.csv", draw_geometry),
            ("length", "breaks.csv", draw_length),
        ):
            parts.append(_Part(f"{task} {kind}", run / kind, sign, draw, f"whatwhere {kind} {run}", task))
    return parts


def _draw_together(directory: Path, runs: dict[str, Path], ready: Sequence[_Part]) -> list[tuple[Path, str]]:
    """The figures that show the models side by side, and where their data lies."""
    names, into = {part.name for part in ready}, directory / FOLDER
    drawn: list[tuple[Path, str]] = []
    scored = [run for task, run in runs.items() if f"{task} scores" in names]
    if scored:
        drawn += [(file, FOLDER) for file in draw_dynamics(scored, into)]
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
