"""One folder per question about a model, a run or the theory.

:mod:`whatwhere.studies.study` is the contract. A new study adds its folder and its line to :data:`STUDIES`.
"""

from __future__ import annotations

from whatwhere.errors import WhatwhereError
from whatwhere.studies.study import Study, resolve

STUDIES: dict[str, str] = {
    "dynamics": "whatwhere.studies.dynamics:DYNAMICS",
    "heads": "whatwhere.studies.language_models:HEADS",
    "validity": "whatwhere.studies.validity:VALIDITY",
    "mechanism": "whatwhere.studies.mechanism:MECHANISM",
    "theorems": "whatwhere.studies.theorems:THEOREMS",
    "geometry": "whatwhere.studies.geometry:GEOMETRY",
    "length": "whatwhere.studies.length:LENGTH",
    "cache": "whatwhere.studies.cache:CACHE",
    "prompt": "whatwhere.studies.prompt:PROMPT",
    "rope": "whatwhere.studies.rope:ROPE",
    "chat": "whatwhere.studies.chat:CHAT",
    "causal": "whatwhere.studies.causal:CAUSAL",
    "growth": "whatwhere.studies.growth:GROWTH",
    "atlas": "whatwhere.studies.atlas:ATLAS",
    "preference": "whatwhere.studies.preference:PREFERENCE",
    "forecast": "whatwhere.studies.forecast:FORECAST",
    "hops": "whatwhere.studies.hops:HOPS",
    "vocabularies": "whatwhere.studies.vocabularies:VOCABULARIES",
}
"""Every study, in the order of the paper's argument."""


def study_named(name: str) -> Study:
    """The study of a name.

    Raises:
        WhatwhereError: there is none.
    """
    if not isinstance(name, str) or name not in STUDIES:
        raise WhatwhereError(f"expected a study of {', '.join(STUDIES)}, got {name!r}.")
    return resolve(STUDIES[name])


def register(study: Study) -> None:
    """Adds your own study: it gets a command, a job, a part of the page and ``whatwhere.study``."""
    STUDIES[study.name] = study  # pyright: ignore[reportArgumentType] (resolve also takes objects)
