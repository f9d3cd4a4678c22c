"""When do heads become positional or symbolic, and are hop classes learned one after another (Sections 3.1 and 3.3)?"""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import RUN

DYNAMICS = Study(
    name="dynamics",
    question="When do heads become positional or symbolic, and are hop classes learned one after another?",
    paper="Sections 3.1 and 3.3, Figure 2, Appendix (learning dynamics in all layers)",
    panel="Models of the paper's tasks",
    subject=RUN,
    folder=__name__,
    settings=".tables:DynamicsSettings",
    tables={
        "accuracy": ".tables:Accuracy",
        "scores": ".tables:Score",
        "readings": ".tables:Score",
        "purity": ".tables:PureHead",
        "lags": ".tables:Lag",
        "gradients": ".tables:Gradient",
    },
    on_request={"gradients": "gradients"},
    figures=(
        Figure("figure-2-dynamics", ".figures:draw_figure_2", ("accuracy", "scores", "purity"), shows="models"),
        Figure("all-layers", ".figures:draw_all_layers", ("accuracy", "scores"), shows="models"),
        Figure("gammas", ".figures:draw_gammas", ("accuracy", "purity"), shows="models"),
        Figure("seeds", ".figures:draw_seeds", ("accuracy", "purity"), shows="seeds"),
        Figure("purity-by-reading", ".figures:draw_readings", ("accuracy", "purity")),
    ),
    page_tables=("accuracy", "scores"),
    outcomes=".summary:outcomes",
    smoke={"inputs": 16, "readings": 2},
    short={"checkpoints": 24, "readings": 4},
    example="whatwhere dynamics runs/number",
)
