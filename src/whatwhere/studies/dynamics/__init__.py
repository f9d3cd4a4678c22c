"""When do heads become positional or symbolic, and are hop classes learned one after another (Sections 3.1 and 3.3)?"""

from __future__ import annotations

from whatwhere.studies.dynamics.tables import Accuracy, DynamicsSettings, Lag, PureHead, Score
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import RUN

_HERE = "whatwhere.studies.dynamics"

DYNAMICS = Study(
    name="dynamics",
    question="When do heads become positional or symbolic, and are hop classes learned one after another?",
    paper="Sections 3.1 and 3.3, Figure 2, Appendix (learning dynamics in all layers)",
    subject=RUN,
    settings=DynamicsSettings,
    tables={"accuracy": Accuracy, "scores": Score, "readings": Score, "purity": PureHead, "lags": Lag},
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("figure-2-dynamics", f"{_HERE}.figures:draw_figure_2", ("accuracy", "scores", "purity"), shows="models"),
        Figure("all-layers", f"{_HERE}.figures:draw_all_layers", ("accuracy", "scores"), shows="models"),
        Figure("gammas", f"{_HERE}.figures:draw_gammas", ("accuracy", "purity"), shows="models"),
        Figure("seeds", f"{_HERE}.figures:draw_seeds", ("accuracy", "purity"), shows="seeds"),
        Figure("purity-by-reading", f"{_HERE}.figures:draw_readings", ("accuracy", "purity")),
    ),
    claims=f"{_HERE}.claims:CLAIMS",
    page=f"{_HERE}:part.js",
    page_tables=("accuracy", "scores"),
    outcomes=f"{_HERE}.summary:outcomes",
    smoke={"inputs": 16, "readings": 2},
    example="whatwhere dynamics runs/number",
)
