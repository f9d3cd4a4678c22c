"""Evidence from results in memory, and what is judged by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whatwhere.studies.claim import Claim, Judged
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.judging import judge
from whatwhere.studies.results import Results


def among(there: Mapping[str, Results]) -> Evidence:
    """Evidence in which every study has the results that are given by model; other models are missing."""

    def find(study: str, model: str | None) -> Results:
        if str(model) not in there:
            raise NotTested(f"{study} of {model} is not there.", missing=True)
        return there[str(model)]

    return Evidence(find)


class Verdicts(Mapping[str, Judged]):
    """Verdicts by the name of the claim. A claim is judged when it is asked for: most tests ask for one of many."""

    def __init__(self, evidence: Evidence, claims: Sequence[Claim]) -> None:
        self._evidence, self._claims = evidence, {claim.id: claim for claim in claims}
        self._judged: dict[str, Judged] = {}

    def __getitem__(self, name: str) -> Judged:
        if name not in self._judged:
            (self._judged[name],) = judge([self._evidence], [self._claims[name]])
        return self._judged[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)
