"""A reproduction on disk whose numbers were written by hand: the world as the paper describes it.

Tests change one thing in it and see which claims notice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whatwhere.heads.summary import WindowScores
from whatwhere.store.storage import write_csv, write_json
from whatwhere.studies.claims_face import CLAIMS, Judged, judge
from whatwhere.studies.dynamics.history import COLUMNS
from whatwhere.studies.geometry.measure import PAPER_IDS, FrequencyRow
from whatwhere.studies.geometry.planes import KeyAlignment, QueryTurn
from whatwhere.studies.length.breaks import BreakRow
from whatwhere.studies.length.measure import LengthAccuracy
from whatwhere.studies.mechanism.ablation import Ablation, Verdict
from whatwhere.studies.mechanism.readout import LayersUsed
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.theory.curves import write_discrepancy
from whatwhere.theory.verification import CHECKS
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run

STEPS = tuple(range(0, 1100, 100))
HOPS = (1, 2, 3, 4)
LEARNED = {"number": (300, 400, 500, 600), "letter": (400, 400, 400, 400)}
LAYERS = range(12)
POSITIONAL, SYMBOLIC, EARLY, START = (0.98, 0.04), (0.04, 0.98), (0.6, 0.7), (1.0, 1.0)
NEEDED = {"number": range(5), "letter": range(12)}
LENGTHS = {
    "number": {17: 1.0, 33: 0.9, 65: 0.4, 97: 0.2, 850: 0.1},
    "letter": {17: 1.0, 33: 1.0, 65: 1.0, 97: 0.99, 850: 0.95},
}
PRINTED = ("out_of_range_inputs", "tied_inputs", "printed_index_bound_fails", "printed_retrieval_bound_fails")


class World:
    """Writes the parts of a reproduction."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def everything(self, seed: int = 0) -> World:
        for task in ("number", "letter"):
            self.run(task, seed)
            self.accuracy(task, LEARNED[task])
            self.scores(task, lambda layer, step, task=task: self.score(task, layer, step))
            self.mechanism(task)
            self.geometry(task, PAPER_IDS[task])
            self.length(task, LENGTHS[task])
        return self

    @staticmethod
    def score(task: str, layer: int, step: int) -> tuple[float, float]:
        """Positional heads join one after another, symbolic ones at once."""
        if step == 0:
            return START
        if task == "number" and layer < 4:
            return POSITIONAL if step >= 300 + 100 * layer else EARLY
        return SYMBOLIC if step >= 300 else EARLY

    def run(self, task: str, seed: int = 0) -> None:
        config = replace(smoke(make_task(task)), validation=800, seed=seed)
        Run(self.directory / task).create(config)

    def accuracy(self, task: str, learned: Sequence[float]) -> None:
        rows = []
        for step in STEPS:
            shares = [0.99 if step >= at else 0.2 for at in learned]
            by_hop = {f"accuracy_hop{hop}": share for hop, share in zip(HOPS, shares, strict=True)}
            rows.append({"step": float(step), "loss": 1.0, **by_hop, "accuracy": sum(shares) / 4})
        Run(self.directory / task).write_metrics(rows)

    def scores(self, task: str, score: Callable[[int, int], tuple[float, float]], steps: Sequence[int] = STEPS) -> None:
        rows = []
        for step in steps:
            for layer in LAYERS:
                share = 0.99 if step == 0 else 0.3
                rows.append([step, layer, 0, *score(layer, step), share * 2.83, 0.01, 512, 0, "keys", share, 0.1, 0])
        write_csv(self.directory / task / "scores.csv", COLUMNS, rows)

    def table(self, task: str, analysis: str, name: str, rows: Sequence[Any]) -> None:
        Results(self.directory / task / analysis).write(name, rows)

    def mechanism(self, task: str, needed: Sequence[int] | None = None, role: str | None = None) -> None:
        hurts = NEEDED[task] if needed is None else needed
        own = role or {"number": "index", "letter": "retrieval"}[task]
        ablations = [
            Ablation(layer, 0, hops, 1.0, 0.99, 1.0, *((0.3, 0.25, 0.35) if layer in hurts else (1.0, 0.99, 1.0)), 500)
            for layer in LAYERS
            for hops in HOPS
        ]
        verdicts = [
            Verdict(layer, 0, own if layer < 4 else "itself", 0.95, 0.93, 0.97, 500, "", "", "", "") for layer in LAYERS
        ]
        used = [LayersUsed(h, h + 0.1, h, h + 0.2, h, h, 0.0, 0.0, 0.0, 500, 0) for h in HOPS]
        windows = [
            WindowScores(layer, 0, window, *self.score(task, layer, 1000), attention)
            for layer in LAYERS
            for window, attention in (("target", 0.7), ("pre-target", 0.2))
        ]
        for name, rows in (
            ("ablation", ablations),
            ("verdicts", verdicts),
            ("layers_used", used),
            ("windows", windows),
        ):
            self.table(task, "mechanism", name, rows)

    def geometry(self, task: str, ids: Sequence[float], alignment: float = 0.99, agreement: float = 0.99) -> None:
        rows = [
            FrequencyRow("variance", layer, 0, float(at), at - 0.4, at + 0.4, 0.1, 1, 0.5, 0.4, 0.6, 1, 512, 0)
            for layer, at in enumerate(ids)
        ]
        self.table(task, "geometry", "table", rows)
        if task == "number":
            groups = ("all", "target", "pointers")
            keys = [
                KeyAlignment(1, 0, 1, group, alignment, alignment - 0.01, alignment + 0.01, 512) for group in groups
            ]
            self.table(task, "geometry", "keys", keys)
            turns = [
                QueryTurn(1, 0, 1, f"1-{most}", -1.0, -1.1, -0.9, -1.0, 0.99, agreement, 0.9, -0.9, 512)
                for most in (16, 8)
            ]
            self.table(task, "geometry", "queries", turns)

    def length(self, task: str, accuracy: dict[int, float], break_at: float = 57.0) -> None:
        rows = [
            LengthAccuracy("as trained", n, 0, share, share - 0.01, min(1.0, share + 0.01), 400)
            for n, share in accuracy.items()
        ]
        self.table(task, "length", "accuracy", rows)
        broken = BreakRow("accuracy", "measured", 0, -1, -1, 0, 0, 0.5, break_at, break_at - 2, break_at + 2, 850)
        self.table(task, "length", "breaks", [broken])

    def theory(self, without: str = "", margins: Sequence[float] = (0.3, 0.3), **changed: dict[str, object]) -> None:
        checks = [
            {
                "name": check.__name__, "claim": check.__name__.replace("_", " "), "inputs": 100, "errors": 0,
                "found": "", "counterexamples": 7 * (check.__name__ in PRINTED), "passed": True,
                **changed.get(check.__name__, {}),
            }
            for check in CHECKS
            if check.__name__ != without
        ]  # fmt: skip
        table = [{"theta": 0.0, "n": 3 * n, "smallest": margin} for n, margin in enumerate(margins)]
        table += [{"theta": 0.001, "n": 50, "smallest": 0.2}]
        write_json(self.directory / "theory" / "theory.json", {"checks": checks, "retrieval_discrepancy": table})
        write_discrepancy(self.directory / "theory")

    def llm(self, cells: Sequence[tuple[str, str, int, float]], source: str = "measured") -> None:
        columns = ("model", "task", "size", "samples", "mean", "sd", "source")
        rows = [(model, f"one_hop_{task}", size, 1000, mean, 0.01, source) for model, task, size, mean in cells]
        write_csv(self.directory / "llm" / "table.csv", columns, rows)

    def judged(self) -> dict[str, Judged]:
        return {one.claim.id: one for one in judge(self.directory)}

    def one(self, name: str) -> Judged:
        (found,) = judge(self.directory, [claim for claim in CLAIMS if claim.id == name])
        return found


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return World(tmp_path_factory.mktemp("template")).everything().directory


@pytest.fixture
def world(tmp_path: Path, template: Path) -> World:
    """Runs and their analyses as the paper describes them; no theory and no chat models."""
    return World(shutil.copytree(template, tmp_path / "world"))
