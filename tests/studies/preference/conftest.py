"""Made-up results of models that follow one cue or the other, alone and as the arms of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.preference import PREFERENCE
from whatwhere.studies.preference.tables import (
    OTHER,
    POSITIONAL,
    SYMBOLIC,
    Accuracy,
    Answer,
    HeadScore,
    PreferenceSettings,
)
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.tasks.both import WHERE
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run

LENGTHS = (17, 145, 850)


def fill(results: Results, symbolic: float, accuracy: Mapping[int, float], half: float = 0.02) -> Results:
    """Writes all tables: each hop class has the share of the mean; ``half`` is half of each interval."""

    def around(value: float) -> Estimate:
        return Estimate(value, max(0.0, value - half), min(1.0, value + half), 100)

    hops = (1, 2, None)
    results.write("accuracy", [Accuracy(n, hop, around(accuracy[n])) for n in LENGTHS for hop in hops])
    shares = {SYMBOLIC: symbolic, POSITIONAL: (1 - symbolic) / 2, OTHER: (1 - symbolic) / 2}
    results.write(
        "answers",
        [Answer(where, n, hop, reading, around(share)) for where in WHERE for n in LENGTHS for reading, share in
         shares.items() for hop in hops],
    )  # fmt: skip
    results.write(
        "heads", [HeadScore(layer, 0, around(0.9 - 0.4 * layer), around(0.2 + 0.4 * layer)) for layer in (0, 1)]
    )
    return results


@pytest.fixture
def made_up() -> Results:
    inputs = {"task": make_task("both").to_dict()}
    results = Results(PREFERENCE, PreferenceSettings(), "runs/[bold]", inputs=inputs)
    return fill(results, 0.7, {17: 1.0, 145: 0.8, 850: 0.3})


Sweep = Callable[..., Path]


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A sweep of two seeds; the penalised arm is as good as it is told to be."""

    def make(symbolic: float = 0.95, at_850: float = 0.9, trained: float = 1.0, plain: float = 1.0) -> Path:
        arms = {
            "plain": ({}, 0.6, {17: plain, 145: 0.6, 850: 0.2}),
            "pay": ({"penalty": 1.0}, symbolic, {17: trained, 145: 0.95, 850: at_850}),
            "far": ({"offsets": 9}, 0.5, {17: 1.0, 145: 0.5, 850: 0.1}),
        }
        for seed in (3, 4):
            for arm, (changes, share, accuracy) in arms.items():
                place = tmp_path / "items" / f"both-{arm}-{seed}"
                run = Run(place)
                run.create(replace(smoke(make_task("both")), seed=seed, **changes))
                run.write_metrics(
                    [
                        {"step": step, "sequences": 1.0, "loss": 1.0, "lr": 1.0, "seconds": 2.0 * step,
                         "accuracy_hop1": 1.0, "accuracy_hop2": step / 20, "accuracy": 0.5}
                        for step in (0.0, 10.0, 20.0)
                    ]
                )  # fmt: skip
                results = Results(PREFERENCE, PreferenceSettings(), arm, place / "preference")
                assert results.manifest
                results.manifest.begin("preference", PreferenceSettings(), {})
                fill(results, share + 0.01 * (seed - 3), accuracy, half=0.004)
                results.manifest.finish(1.0)
        return tmp_path

    return make
