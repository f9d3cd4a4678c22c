"""No false alarm: the rotation of every family is what its configuration says."""

from __future__ import annotations

import pytest
from families import FAMILIES, tiny_model

from whatwhere.studies.measuring import study


@pytest.mark.parametrize("name", FAMILIES)
def test_no_family_raises_an_alarm(name: str):
    found = study("rope", tiny_model(FAMILIES[name]), tokens=24)
    assert found["differences"].to_dict("records") == []
    assert found["about"]["judged"].all()
    assert found["planes"]["expected"].notna().all()  # each frequency was judged
