"""Small models, and made-up tables as the paper describes its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.geometry import GEOMETRY
from whatwhere.studies.geometry.tables import (
    AT_POINTERS,
    PAPER_IDS,
    VARIANCE,
    FrequencyId,
    GatedAccuracy,
    GeometrySettings,
    KeyAlignment,
    LetterMatching,
    NullComparison,
    PlaneVector,
    PlaneWeight,
    QueryTurn,
)
from whatwhere.studies.results import Results
from whatwhere.tasks import LetterTask, NumberTask, Task


def tiny(task: Task, layers: int = 2) -> GPTJ:
    model = GPTJ(ModelConfig(vocab_size=task.vocab_size, layers=layers, d_model=32, d_mlp=32, init_std=0.3), seed=0)
    model.task = task
    return model


def around(value: float, width: float = 0.01) -> Estimate:
    return Estimate(value, value - width, value + width, 512)


def made_up(
    task: str,
    ids: Sequence[float] | None = None,
    *,
    alignment: float = 0.99,
    agreement: float = 0.99,
    accuracy: float = 1.0,
    shuffles: int = 5,
    pictured: bool = True,
) -> Results:
    """Results in memory; every head looks like the construction, in plane 1 of two."""
    inputs = {"task": (NumberTask() if task == "number" else LetterTask()).to_dict()}
    results = Results(GEOMETRY, GeometrySettings(), task, inputs=inputs)
    ids = PAPER_IDS[task] if ids is None else ids
    measures, layers = ("norm", "variance", "margin"), range(len(ids))
    weights = [PlaneWeight(m, at, 0, k, 1 / k, around(0.9 / k)) for m in measures for at in layers for k in (1, 2)]
    results.write("weights", weights)
    results.write(
        "ids",
        [
            FrequencyId(measure, layer, 0, around(at, 0.4), 0.1, 1, around(0.5), 1 if layer else None, 0)
            for measure in (*measures, VARIANCE + AT_POINTERS)
            for layer, at in enumerate(ids)
        ],
    )
    groups = ("all", "target", "pointers")
    results.write("keys", [KeyAlignment(at, 0, 1, group, around(alignment)) for at in layers for group in groups])
    turns = [
        QueryTurn(at, 0, 1, f"1-{most}", around(-1.0), -1.0, 0.99, agreement, 0.9, -0.9)
        for at in layers
        for most in (16, 8)
    ]
    results.write("queries", turns if task == "number" and pictured else [])
    matches = [LetterMatching(at, 0, 1, around(0.9)) for at in layers]
    results.write("matching", matches if task == "letter" and pictured else [])
    statements = ("queries turn 1-16", "queries turn 1-8", "keys aligned all", "keys aligned pointers")
    results.write(
        "nulls",
        [
            NullComparison(at, 0, 1, statement, null, value, 100, reached, 0.3, 0.6)
            for at in layers
            for statement, value in zip(statements, (agreement, agreement, alignment, alignment), strict=True)
            for null, reached in (("other planes", 40), ("shuffled names", shuffles), ("other layers", 2))
            if statement.startswith("queries") or null != "shuffled names"
        ],
    )
    vectors = [PlaneVector(at, 0, 1, role, "1", 0.0, 1.0, 3) for at in layers for role in ("query", "key")]
    results.write("vectors", vectors)
    closings = (
        ("as trained", "as trained", None, None, None), ("fast closed", "closed", 1, 1, None),
        ("fast closed in 0-3", "closed", 1, 1, "0-3"), ("only fast open", "alone", 2, 2, None),
        ("1-2 closed", "sliding", 1, 2, None),
    )  # fmt: skip
    results.write(
        "gating",
        [
            GatedAccuracy(name, kind, a, b, 0 if a is None or b is None else b - a + 1, layers, hop, around(accuracy))
            for name, kind, a, b, layers in closings
            for hop in (1, 2, None)
        ],
    )
    return results


@pytest.fixture(name="tiny")
def _tiny() -> Callable[..., GPTJ]:
    return tiny


@pytest.fixture(name="made_up")
def _made_up() -> Callable[..., Results]:
    return made_up
