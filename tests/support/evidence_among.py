"""Evidence from results in memory."""

from __future__ import annotations

from collections.abc import Mapping

from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.results import Results


def among(there: Mapping[str, Results]) -> Evidence:
    """Evidence in which every study has the results that are given by model; other models are missing."""

    def find(study: str, model: str | None) -> Results:
        if str(model) not in there:
            raise NotTested(f"{study} of {model} is not there.", missing=True)
        return there[str(model)]

    return Evidence(find)
