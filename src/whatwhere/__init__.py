"""Does an attention head look at *where* a token stands, or at *what* it is?

The public face is small and reads like the paper; each name is imported when it is first used, so that
``import whatwhere`` and ``whatwhere --help`` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "NumberTask": "whatwhere.tasks.number",
    "LetterTask": "whatwhere.tasks.letter",
    "BothTask": "whatwhere.tasks.both",
    "Batch": "whatwhere.tasks.batch",
    "load": "whatwhere.zoo.load",
    "trace": "whatwhere.trace.traceable",
    "run": "whatwhere.trace.traceable",
    "score": "whatwhere.heads.scores",
    "study": "whatwhere.studies.measuring",
    "HeadWatch": "whatwhere.studies.watched.callbacks",
    "WhatwhereError": "whatwhere.errors",
}

__all__ = [
    "Batch", "BothTask", "HeadWatch", "LetterTask", "NumberTask", "WhatwhereError", "__version__", "load", "run",
    "score", "study", "trace",
]  # fmt: skip

if TYPE_CHECKING:
    from whatwhere.errors import WhatwhereError
    from whatwhere.heads.scores import score
    from whatwhere.studies.measuring import study
    from whatwhere.studies.watched.callbacks import HeadWatch
    from whatwhere.tasks.batch import Batch
    from whatwhere.tasks.both import BothTask
    from whatwhere.tasks.letter import LetterTask
    from whatwhere.tasks.number import NumberTask
    from whatwhere.trace.traceable import run, trace
    from whatwhere.zoo.load import load


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'whatwhere' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
