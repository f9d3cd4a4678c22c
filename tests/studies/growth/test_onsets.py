from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from whatwhere.heads.purity import KINDS
from whatwhere.studies.claim import Claim
from whatwhere.studies.dynamics.tables import Score
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.growth import GROWTH
from whatwhere.studies.growth.claims import CLAIMS
from whatwhere.studies.growth.onsets import find_onsets, held_from
from whatwhere.studies.growth.tables import Detector, GrowthSettings, Loss
from whatwhere.studies.results import Results

STEPS = (0, 10, 20, 30)


def made(
    rows: dict[tuple[int, int], list[tuple[float, float, float, float]]],
    copying: list[float],
    losses: tuple[float, ...] = (5.0, 4.0, 3.0, 2.0),
) -> Results:
    """Results with the given (positional, symbolic, previous, induction) of each head at each step."""
    results = Results(GROWTH, GrowthSettings(), "theory")
    cells = [(step, *head, *values[at]) for at, step in enumerate(STEPS) for head, values in rows.items()]
    results.write("scores", [Score(s, la, h, "chosen", 1e-4, p, y, 1.0, 0.5, 0.0, 8) for s, la, h, p, y, _, _ in cells])
    results.write("detectors", [Detector(s, la, h, one, two) for s, la, h, _, _, one, two in cells])
    each = zip(STEPS, losses, copying, strict=True)
    results.write("losses", [Loss(step, 100 * step, None, loss, gain) for step, loss, gain in each])
    results.write("onsets", find_onsets(results))
    return results


FLAT = (1.0, 1.0, 0.1, 0.1)
BACK, COPIER = (0.99, 0.02, 0.8, 0.1), (0.01, 0.98, 0.1, 0.6)
GROWN = {(0, 0): [FLAT, BACK, BACK, BACK], (1, 0): [FLAT, FLAT, COPIER, COPIER], (1, 1): [FLAT, COPIER, FLAT, FLAT]}


def claim(name: str) -> Claim:
    return next(one for one in CLAIMS if one.id == name)


def value(name: str, results: Results) -> float:
    return claim(name).measure(Evidence.of(results)).value


def test_an_event_counts_from_where_it_holds_to_the_end() -> None:
    steps = np.array(STEPS)
    assert held_from(steps, np.array([False, True, True, True])) == 10
    assert held_from(steps, np.array([True, True, False, True])) == 30
    assert held_from(steps, np.array([True, True, True, True])) == 0
    assert held_from(steps, np.array([True, True, True, False])) is None


def test_events_are_listed_in_the_order_of_their_steps() -> None:
    found = find_onsets(made(GROWN, [0, 0, 0.4, 2.0]))
    assert [(row.event, row.layer, row.head, row.step) for row in found] == [
        ("positional", 0, 0, 10),
        ("previous", 0, 0, 10),
        ("symbolic", 1, 0, 20),
        ("induction", 1, 0, 20),
        ("copying", None, None, 30),
    ]
    assert [row.tokens for row in found] == [1000, 1000, 2000, 2000, 3000]


def test_the_lines_of_pure_heads_start_at_none_before_training() -> None:
    figure = made(GROWN, [0, 0, 0.4, 2.0]).figures()["growth"]
    lines = {line.get_label(): line for line in figure.axes[2].lines}
    ends = {kind: (list(lines[kind].get_xdata()), list(lines[kind].get_ydata())) for kind in KINDS}  # pyright: ignore
    assert ends == {"positional": ([0, 1000, 3000], [0, 1, 1]), "symbolic": ([0, 2000, 3000], [0, 1, 1])}


def test_claims_read_the_order_of_events() -> None:
    results = made(GROWN, [0, 0, 0.4, 2.0])
    assert value("growth-both-kinds", results) == 2
    assert value("growth-positional-first", results) == 2
    assert value("growth-copying-with-symbolic", results) == pytest.approx(np.log2(1.5))
    assert value("growth-induction-heads-symbolic", results) == pytest.approx(0.866, abs=0.01)
    assert value("growth-previous-heads-positional", results) == pytest.approx(0.866, abs=0.01)


def test_a_head_that_is_pure_before_training_counts_as_one_token() -> None:
    early = {(0, 0): [BACK] * 4, (1, 0): [FLAT, COPIER, COPIER, COPIER]}
    assert value("growth-positional-first", made(early, [0, 0, 0.4, 2.0])) == 1000
    copies = made({(0, 0): [COPIER] * 4}, [0, 0, 0.4, 2.0])
    assert value("growth-copying-with-symbolic", copies) == pytest.approx(np.log2(3000))
    assert value("growth-copying-with-symbolic", made(early, [2.0] * 4)) == pytest.approx(np.log2(1000))


def test_what_never_happens_is_not_tested() -> None:
    flat: Any = made({head: [FLAT] * 4 for head in GROWN}, [0] * 4)
    assert value("growth-both-kinds", flat) == 0
    with pytest.raises(NotTested, match="no event 'positional' holds"):
        value("growth-positional-first", flat)
    with pytest.raises(NotTested, match="no event 'induction' holds"):
        value("growth-induction-heads-symbolic", flat)
    alike: Any = made({head: [COPIER] * 4 for head in GROWN}, [0] * 4)
    with pytest.raises(NotTested, match="all heads have the same induction mass"):
        value("growth-induction-heads-symbolic", alike)


def test_a_model_that_has_hardly_learned_tests_nothing() -> None:
    results = made(GROWN, [0, 0, 0.4, 2.0], (5.0, 2.0, 3.0, 4.1))
    for one in CLAIMS:
        with pytest.raises(NotTested, match=r"hardly learned: held-out loss 5.00 to 4.10 nats"):
            one.measure(Evidence.of(results))


def test_one_nat_from_the_first_to_the_last_loss_is_enough() -> None:
    assert value("growth-both-kinds", made(GROWN, [0, 0, 0.4, 2.0], (5.0, 4.5, 4.5, 4.0))) == 2


def test_each_finding_is_told_with_its_events_and_masses() -> None:
    evidence = Evidence.of(made(GROWN, [0, 0, 0.4, 2.0]))
    found = {one.id.removeprefix("growth-"): one.measure(evidence) for one in CLAIMS}
    assert {name: one.why for name, one in found.items()} == {
        "both-kinds": "At the end 1 heads are positional and 1 heads are symbolic.",
        "positional-first": "The first positional head comes at 1,000 tokens, the first symbolic one at 2,000.",
        "copying-with-symbolic": "The model copies from 3,000 tokens on; its first symbolic head comes at 2,000.",
        "induction-heads-symbolic": (
            "Over 3 heads. The largest induction mass is 0.60, of head 1.0 (positional 0.01, symbolic 0.98)."
        ),
        "previous-heads-positional": (
            "Over 3 heads. The largest previous mass is 0.80, of head 0.0 (positional 0.99, symbolic 0.02)."
        ),
    }


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    return pd.Series(one).corr(pd.Series(other), method="spearman")


def test_the_interval_of_a_correlation_draws_heads_a_thousand_times() -> None:
    heads = {
        (0, at): [(p, 1 - p, m, m) for _ in STEPS] for at, (p, m) in enumerate(zip(np.linspace(0, 1, 8), (
            0.6, 0.8, 0.5, 0.7, 0.2, 0.4, 0.3, 0.1), strict=True))
    }  # fmt: skip
    results = made(heads, [0, 0, 0.4, 2.0])
    found = claim("growth-induction-heads-symbolic").measure(Evidence.of(results))
    mass, leans = np.array([0.6, 0.8, 0.5, 0.7, 0.2, 0.4, 0.3, 0.1]), np.linspace(1, -1, 8)
    assert found.value == pytest.approx(spearman(mass, leans))
    draws = np.random.default_rng(0).integers(0, 8, (1000, 8))
    drawn = [spearman(mass[draw], leans[draw]) for draw in draws]
    assert found.interval == pytest.approx(np.nanquantile(drawn, [0.025, 0.975]), abs=1e-6)
