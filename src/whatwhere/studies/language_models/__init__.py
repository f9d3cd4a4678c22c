"""Which heads of a model look at where a token stands, and which at what it is? Ours, and any rotary language model."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import ROTARY

HEADS = Study(
    name="heads",
    question="Which heads look at where a token stands, and which at what it is?",
    paper="Section 2.2; language models are beyond the paper",
    panel="Heads of any model",
    subject=ROTARY,
    folder=__name__,
    settings=".tables:HeadsSettings",
    tables={
        "about": ".tables:About",
        "heads": ".tables:HeadRow",
        "spectrum": ".tables:PlaneWeight",
        "windows": ".tables:WindowScore",
        "temperatures": ".tables:TemperatureScore",
        "tokens": ".tables:Token",
        "attention": ".tables:Look",
    },
    on_request={"windows": "windows", "temperatures": "taus"},
    figures=(
        Figure("head-map", ".figures:draw_map", ("heads",)),
        Figure("head-spectrum", ".figures:draw_spectrum", ("spectrum",)),
    ),
    page_tables=("about", "heads", "spectrum", "tokens", "attention"),
    outcomes=".summary:outcomes",
    smoke={"inputs": 16},
    example="whatwhere heads HuggingFaceTB/SmolLM2-135M --text notes.txt",
)
