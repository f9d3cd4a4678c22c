"""The paper's world of learning dynamics as made-up tables; tests change one thing in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evidence_among import Verdicts

from whatwhere.heads.estimate import Estimate, share
from whatwhere.heads.purity import label_of
from whatwhere.heads.summary import WindowScores
from whatwhere.studies.dynamics import DYNAMICS
from whatwhere.studies.dynamics.measure import purity_rows
from whatwhere.studies.dynamics.tables import Accuracy, DynamicsSettings, Score
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.mechanism import MECHANISM
from whatwhere.studies.mechanism.tables import Ablation, GroupAblation, MechanismSettings, SufficientSet
from whatwhere.studies.results import Results

STEPS = tuple(range(0, 1100, 100))
HOPS = (1, 2, 3, 4)
POSITIONAL, SYMBOLIC, EARLY, START = (0.98, 0.04), (0.04, 0.98), (0.6, 0.7), (1.0, 1.0)
ScoreOf = Callable[[int, int], tuple[float, float]]
"""Both scores of a layer at a step."""


def world_score(task: str, layer: int, step: int) -> tuple[float, float]:
    """In the paper's world positional heads join one after another, symbolic ones at once."""
    if step == 0:
        return START
    if task == "number" and layer < 4:
        return POSITIONAL if step >= 300 + 100 * layer else EARLY
    return SYMBOLIC if step >= 300 else EARLY


def made_up(
    task: str,
    learned: Sequence[float],
    score: ScoreOf | None = None,
    *,
    steps: Sequence[int] = STEPS,
    layers: int = 12,
    heads: int = 1,
    test: float | None = None,
) -> Results:
    """Results of dynamics in memory: each hop class rises from 0.2 to 0.99 at a step."""
    settings = DynamicsSettings()
    results = Results(DYNAMICS, settings, task, inputs={"task": {"name": task}})
    accuracy = [
        Accuracy(step, "scored", hop, share(297 if step >= at else 60, 300))
        for step in steps
        for hop, at in zip(HOPS, learned, strict=False)
    ]
    if test is not None:
        accuracy += [Accuracy(steps[-1], "test", hop, Estimate(test, test - 0.005, test + 0.005, 5000)) for hop in HOPS]
    rows = [
        Score(step, layer, head, reading, tau, *(score or (lambda a, b: world_score(task, a, b)))(layer, step),
              2.8 if step == 0 else 0.85, 0.99 if step == 0 else 0.3, 0.1, 1200)
        for step in steps for layer in range(layers) for head in range(heads)
        for reading in (("last", "path", "all") if step == steps[-1] else ("last",)) for tau in settings.taus
    ]  # fmt: skip
    results.write("accuracy", accuracy)
    results.write("scores", [row for row in rows if (row.reading, row.tau) == ("last", settings.tau)])
    results.write("readings", rows)
    results.write("purity", purity_rows(results["readings"]))
    return results


def made_up_mechanism(task: str, needed: Sequence[int], sufficient: str, window: tuple[float, float] | None) -> Results:
    """Results of the mechanism study: some layers are needed, some suffice; windows score as the heads end."""
    results = Results(MECHANISM, MechanismSettings(), task, inputs={"task": {"name": task}})
    one, low = Estimate(1.0, 0.99, 1.0, 500), Estimate(0.3, 0.25, 0.35, 500)
    results.write(
        "ablation",
        [
            Ablation(layer, 0, hop, one, low if layer in needed else one, 0.0, 0.5, layer in needed)
            for layer in range(12) for hop in HOPS
        ],
    )  # fmt: skip
    kinds = [label_of(*world_score(task, layer, 1000)) for layer in range(12)]
    results.write(
        "groups",
        [
            GroupAblation("kind", f"all {kind}", " ".join(f"{at}.0" for at in range(12) if kinds[at] == kind), hop,
                          one, low if lost else one, 0.7 * lost, 0.0, lost)
            for kind in sorted(set(kinds))
            for lost in [any(kinds[at] == kind for at in needed)]
            for hop in HOPS
        ] + [
            GroupAblation("late layers", "layers 6-11", "6.0 7.0 8.0 9.0 10.0 11.0", hop, one, low, 0.7, 0.0,
                          max(needed, default=0) > 5)
            for hop in HOPS
        ],
    )  # fmt: skip
    size = len(sufficient.split())
    results.write("sufficient", [SufficientSet(hop, size, 12, sufficient, one, one, one) for hop in HOPS])
    results.write(
        "windows",
        [
            WindowScores(layer, 0, name, *(both if name == "target" else START), attention)
            for layer in range(12)
            for both in [window or world_score(task, layer, 1000)]
            for name, attention in (("target", 0.7), ("pre-target", 0.2))
        ],
    )
    return results


@dataclass
class World:
    """What the claims read; a test replaces a part."""

    dynamics: dict[str, Results] = field(default_factory=dict)
    mechanism: dict[str, Results] = field(default_factory=dict)

    def evidence(self, *, control: bool) -> Evidence:
        def find(study: str, model: str | None) -> Results:
            found = getattr(self, study).get(model) if control or model != "letter-control" else None
            if found is None:
                raise NotTested(f"{study} of {model} is not there.", missing=True)
            return found

        return Evidence(find)

    def judged(self, *, control: bool = False) -> Verdicts:
        """The verdicts; without the control's evidence unless it is asked for."""
        return Verdicts(self.evidence(control=control), DYNAMICS.all_claims())

    def failing(self) -> set[str]:
        return {name for name, one in self.judged().items() if one.verdict == "fails"}
