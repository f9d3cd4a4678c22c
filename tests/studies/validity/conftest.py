from __future__ import annotations

import pytest

from whatwhere.studies.results import Results
from whatwhere.studies.study import no_progress
from whatwhere.studies.validity import VALIDITY, permutations
from whatwhere.studies.validity.measure import measure


@pytest.fixture(scope="session")
def whole() -> Results:
    """Results of a small size, in memory; tests do not write to them."""
    results = Results(VALIDITY, VALIDITY.with_settings(heads=8, inputs=4), "theory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutations, "BURN_IN", 50)
        patch.setattr(permutations, "SAMPLES", 20)
        measure(None, results.settings, results, no_progress)
    return results
