"""What the claims say of the shipped tables, number by number: a change of a measure must be meant.

``python tests/studies/test_shipped_claims.py`` writes the record again, after other tables were shipped.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from whatwhere.studies import study_named
from whatwhere.studies.evidence import Evidence
from whatwhere.studies.judging import judge
from whatwhere.zoo.load import SHIPPED_AT

RECORD = Path(__file__).with_name("shipped_claims.csv")


def judged() -> Iterator[list[str]]:
    """Each claim with its verdict, what it depends on, its value and interval, and the numbers in its reason."""
    evidence = [Evidence.in_directory(SHIPPED_AT)]
    for name in ("dynamics", "mechanism", "geometry", "length", "hops"):
        for one in judge(evidence, study_named(name).all_claims()):
            if not one.missing:
                numbers = [f"{number:.8g}" for number in (one.value, *(one.interval or ()))]
                told = re.findall(r"-?\d[\d,.]*\d|\d", one.why)
                depends = " ".join(one.depends_on)
                yield [one.claim.id, one.verdict, depends, " ".join(numbers), str(one.inputs), " ".join(told)]


@pytest.mark.slow
def test_each_claim_says_of_the_shipped_tables_what_it_said() -> None:
    with RECORD.open(newline="") as lines:
        known = list(csv.reader(lines))
    assert list(judged()) == known


if __name__ == "__main__":
    with RECORD.open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows(judged())
