"""How far does a trained model generalise, and can it be predicted? (Section 3.6, Figure 5B)."""

from __future__ import annotations

from whatwhere.studies.length.tables import Accuracy, Break, Chain, Hop, LengthSettings
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

_HERE = "whatwhere.studies.length"

LENGTH = Study(
    name="length",
    question="How far does the model generalise beyond its training length, and can it be predicted?",
    paper="Section 3.6, Figure 5B",
    subject=TRAINED,
    settings=LengthSettings,
    tables={"accuracy": Accuracy, "hops": Hop, "chain": Chain, "breaks": Break},
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("length-accuracy", f"{_HERE}.figures:draw_accuracy", ("accuracy", "chain")),
        Figure("length-margins", f"{_HERE}.figures:draw_margins", ("hops", "breaks")),
        Figure("figure-5b-length", f"{_HERE}.figures:draw_models", ("accuracy",), shows="models"),
    ),
    claims=f"{_HERE}.claims:CLAIMS",
    page=f"{_HERE}:part.js",
    page_tables=("accuracy", "chain", "breaks"),
    outcomes=f"{_HERE}.summary:outcomes",
    smoke={"inputs": 16, "lengths": (33,), "varied_lengths": (33,)},
    example="whatwhere length letter --lengths 65,850",
)
