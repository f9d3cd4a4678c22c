"""Which heads of a model look at where a token stands, and which at what it is? Ours, and any rotary language model."""

from __future__ import annotations

from whatwhere.studies.language_models.tables import (
    About,
    HeadRow,
    HeadsSettings,
    Look,
    PlaneWeight,
    TemperatureScore,
    Token,
    WindowScore,
)
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import ROTARY

_HERE = "whatwhere.studies.language_models"

HEADS = Study(
    name="heads",
    question="Which heads look at where a token stands, and which at what it is?",
    paper="Section 2.2; language models are beyond the paper",
    subject=ROTARY,
    settings=HeadsSettings,
    tables={
        "about": About,
        "heads": HeadRow,
        "spectrum": PlaneWeight,
        "windows": WindowScore,
        "temperatures": TemperatureScore,
        "tokens": Token,
        "attention": Look,
    },
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("head-map", f"{_HERE}.figures:draw_map", ("heads",)),
        Figure("head-spectrum", f"{_HERE}.figures:draw_spectrum", ("spectrum",)),
    ),
    page=f"{_HERE}:part.js",
    page_tables=("about", "heads", "spectrum", "tokens", "attention"),
    outcomes=f"{_HERE}.summary:outcomes",
    smoke={"inputs": 16},
    example="whatwhere heads HuggingFaceTB/SmolLM2-135M --text notes.txt",
)
