"""No false alarm: the rotation of every family is what its configuration says."""

from __future__ import annotations

import math

import pytest
from families import FAMILIES, tiny_model

from whatwhere.studies.measuring import study
from whatwhere.studies.rope.tables import About, PlaneRope


@pytest.mark.parametrize("name", FAMILIES)
def test_no_family_raises_an_alarm(name: str):
    found = study("rope", tiny_model(FAMILIES[name]), tokens=24)
    assert found["differences"].to_dict("records") == []
    assert all(about.judged for about in found.rows("about", About))
    assert not any(math.isnan(plane.expected) for plane in found.rows("planes", PlaneRope))  # each was judged
