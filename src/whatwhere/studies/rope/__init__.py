"""Is the rotation of a model what it should be: by its configuration, and against another checkpoint or a GGUF file?"""

from __future__ import annotations

from whatwhere.studies.rope.tables import About, Difference, LayerRope, PlaneRope, RopeSettings
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

_HERE = "whatwhere.studies.rope"

ROPE = Study(
    name="rope",
    question="Is this model's RoPE what it should be?",
    paper="beyond the paper; the rotation is that of its preliminaries",
    subject=LANGUAGE_MODEL,
    settings=RopeSettings,
    second="other",
    tables={"about": About, "layers": LayerRope, "planes": PlaneRope, "differences": Difference},
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(Figure("rope-frequencies", f"{_HERE}.figures:draw_frequencies", ("planes",)),),
    passes=f"{_HERE}.summary:passes",
    example="whatwhere rope models/mine models/mine.gguf",
)
