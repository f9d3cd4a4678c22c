"""Is the rotation of a model correct, by its configuration and against another checkpoint or a GGUF file?"""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

ROPE = Study(
    name="rope",
    question="Is this model's RoPE what it should be?",
    paper="beyond the paper; the rotation is that of its preliminaries",
    panel="Language models",
    subject=LANGUAGE_MODEL,
    folder=__name__,
    settings=".tables:RopeSettings",
    second="other",
    tables={
        "about": ".tables:About",
        "layers": ".tables:LayerRope",
        "planes": ".tables:PlaneRope",
        "differences": ".tables:Difference",
    },
    figures=(Figure("rope-frequencies", ".figures:draw_frequencies", ("planes",)),),
    passes=".summary:passes",
    example="whatwhere rope models/mine models/mine.gguf",
)
