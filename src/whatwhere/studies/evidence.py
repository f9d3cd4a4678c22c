"""The evidence for claims: the results of one reproduction, or of one seed of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from whatwhere.store.documents import Record
from whatwhere.store.manifest import Manifest
from whatwhere.studies.results import Results
from whatwhere.studies.study import Study
from whatwhere.training.run import Run

CONTROL, LEAK_FREE = "letter-control", "decoy"
"""The name of the letter model trained on leak-free data, and the generator of these data."""
MODELS = ("number", "letter", CONTROL)
"""The folders of a reproduction that hold a run."""
LEARNED = 0.9
"""The accuracy from which a hop class counts as solved."""
Find = Callable[[str, str | None], Results]
"""The results of a study, of one model or of none."""


class NotTested(Exception):
    """A claim cannot be judged from the available results; the message says why.

    Args:
        why: the reason.
        missing: whether results are missing.
    """

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing


def require_learned(model: str, accuracies: Collection[float]) -> None:
    """Checks that a model has learned its task: claims about solutions do not apply otherwise.

    The accuracies are those of each hop class, at the training length.

    Raises:
        NotTested: the worst class is not solved.
    """
    worst = min(accuracies, default=0.0)
    if not worst >= LEARNED:
        raise NotTested(
            f"the {model} model has not learned its task: its worst hop class is at {worst:.2f}, and {LEARNED} is "
            "expected of each."
        )


class Evidence:
    """Results by study and model.

    Args:
        find: opens the results of a study (of a model, or of none); raises NotTested if there are none.
    """

    def __init__(self, find: Find) -> None:
        self._find = find
        self.asked: set[str | None] = set()
        """The models whose results were requested; None for results of no model."""
        self._found: dict[tuple[str, str | None], Results] = {}

    @classmethod
    def of(cls, results: Results) -> Evidence:
        """One result alone."""

        def find(study: str, model: str | None) -> Results:
            task = results.inputs.get("task", {}) if model is not None else {}
            on_control = task.get("name") == "letter" and task.get("generator") == LEAK_FREE
            own = CONTROL if on_control else task.get("name")
            if study != results.study.name or model != own:
                about = f"{model} model" if model else "theory"
                raise NotTested(f"the results of {study} on the {about} are not here.", missing=True)
            return results

        return cls(find)

    @classmethod
    def in_directory(cls, directory: Path) -> Evidence:
        """A reproduction: ``DIR/MODEL/STUDY``, and ``DIR/STUDY`` for studies that need no model."""

        def find(study: str, model: str | None) -> Results:
            from whatwhere.studies import study_named

            asked, home = study_named(study), directory if model is None else directory / model
            if not Manifest(home / study).exists:
                command = command_for(asked, home)
                raise NotTested(f"{home / study} has no results. Make them with: {command}", missing=True)
            return Results.open(asked, home / study, model or study)

        return cls(find)

    @property
    def found(self) -> Collection[Results]:
        """The results that were requested and exist."""
        return self._found.values()

    def on_control(self) -> Evidence:
        """The same evidence with the control instead of the letter model."""
        return Evidence(lambda study, model: self.results(study, CONTROL if model == "letter" else model))

    def results(self, study: str, model: str | None = None) -> Results:
        """The results of a study.

        Raises:
            NotTested: they are not there.
        """
        self.asked.add(model)
        key = study, model
        if key not in self._found:
            self._found[key] = self._find(study, model)
        return self._found[key]

    def rows(self, study: str, model: str | None, table: str, kind: type[Record]) -> list[Record]:
        """One table.

        Raises:
            NotTested: it is not there.
        """
        results = self.results(study, model)
        if not results.has(table):
            raise NotTested(f"the table {table!r} of {study} is not there.", missing=True)
        return results.rows(table, kind)


def command_for(study: Study, home: Path) -> str:
    """The command that makes the results of a study in a folder."""
    argument = study.subject.argument
    if argument and Run(home).exists:
        return f"whatwhere {study.name} {home}"
    return f"whatwhere {study.name}{f' {argument.upper()}' if argument else ''} --out {home}"


def judged_on(directory: Path) -> list[dict[str, Any]]:
    """The models of a reproduction: name, preset, data and seed of each."""
    homes = [directory, *sorted(path for path in directory.glob("seeds/*") if path.is_dir())]
    configs = [(model, Run(home / model).config) for home in homes for model in MODELS if Run(home / model).exists]
    return [
        {"model": model, "preset": config.preset, "data": config.task.to_dict(), "seed": config.seed}
        for model, config in configs
    ]


def evidence_of(directory: Path) -> Sequence[Evidence]:
    """The evidence of a reproduction, the first seed first, then each other seed (``DIR/seeds/SEED``)."""
    own = {str(Run(directory / model).config.seed) for model in MODELS if Run(directory / model).exists}
    others = sorted(path for path in directory.glob("seeds/*") if path.is_dir() and path.name not in own)
    return [Evidence.in_directory(directory), *map(Evidence.in_directory, others)]
