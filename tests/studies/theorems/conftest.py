from __future__ import annotations

import pytest

from whatwhere.studies.results import Results
from whatwhere.studies.study import no_progress
from whatwhere.studies.theorems import THEOREMS, measure
from whatwhere.theory.check import Check


def quick(name: str):
    """Stands in for a check, which takes seconds."""
    return lambda inputs: Check(f"{name} with [brackets]", inputs, 0, "seen")


@pytest.fixture(scope="session")
def whole() -> Results:
    """Results with every table, in memory; tests do not write to them."""
    results = Results(THEOREMS, THEOREMS.with_settings(inputs=100), "theory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "CHECKS", {name: quick(name) for name in measure.CHECKS})
        measure.measure(None, results.settings, results, no_progress)
    return results
