"""What do the heads of a trained model compute, when can the answer be read, and what does the model need?"""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

MECHANISM = Study(
    name="mechanism",
    question="What do the heads compute, when can the answer be read, and which heads does the model need?",
    paper="Sections 3.2 and 3.3, Figures 1 and 3",
    panel="Models of the paper's tasks",
    subject=TRAINED,
    folder=__name__,
    settings=".tables:MechanismSettings",
    tables={
        "examples": ".tables:Example",
        "flow": ".tables:Look",
        "attention": ".tables:Attention",
        "contents": ".tables:Content",
        "roles": "whatwhere.heads.roles:RoleShare",
        "readout": ".tables:Readable",
        "deliveries": ".tables:Delivery",
        "moves": ".tables:Move",
        "layers_used": ".tables:LayersUsed",
        "pointers": ".tables:Pointer",
        "kinds": ".tables:Kind",
        "windows": "whatwhere.heads.summary:WindowScores",
        "ablation": ".tables:Ablation",
        "verdicts": ".tables:Verdict",
        "groups": ".tables:GroupAblation",
        "elimination": ".tables:Elimination",
        "sufficient": ".tables:SufficientSet",
        "confirmed": ".tables:ConfirmedSet",
        "patching": ".tables:Patched",
        "edges": ".path_tables:Edge",
        "copying": ".path_tables:Copying",
        "selectivity": ".path_tables:Selectivity",
        "decoders": ".path_tables:DecodedFlow",
        "decoding": ".path_tables:Decoding",
        "probed_layers": ".tables:LayersUsed",
        "probed_deliveries": ".tables:Delivery",
        "probed_verdicts": ".tables:Verdict",
        "probed_keeping": ".path_tables:Keeping",
        "keeping": ".path_tables:Keeping",
        "chains": ".tables:Chain",
    },
    figures=(
        Figure("figure-1-tasks", ".flow_figures:draw_tasks", ("examples",), shows="models"),
        Figure("figure-3-flow", ".flow_figures:draw_flow", ("examples", "flow")),
        Figure(
            "mechanism",
            ".figures:draw_overview",
            ("roles", "readout", "pointers", "moves", "ablation", "patching", "layers_used", "chains"),
        ),
        Figure("copying", ".figures:draw_copying", ("edges", "selectivity", "keeping", "copying", "ablation")),
        Figure("needed-heads", ".figures:draw_needs", ("groups", "elimination", "sufficient")),
    ),
    page_tables=("kinds", "verdicts", "ablation"),
    page_data=".examples:page_data",
    outcomes=".summary:outcomes",
    smoke={"inputs": 400, "examples": 1},
    example='whatwhere mechanism number --input "c h n a b 5 3 2 2"',
)
