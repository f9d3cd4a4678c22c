"""The generators of the letter task.

- ``paper``, the default: the authors' data, which leak the answer;
- ``decoy``: the leak-free control;
- ``strict``: one token for each left letter, for the theory;
- ``simple``: for chains longer than ``decoy`` has letters for.
"""

from whatwhere.tasks.generators.decoy import Decoy
from whatwhere.tasks.generators.generator import Generator
from whatwhere.tasks.generators.plain import Paper, Simple, Strict

__all__ = ["GENERATORS", "SIMPLE", "Generator"]

SIMPLE = Simple()
GENERATORS: dict[str, Generator] = {each.name: each for each in (Paper(), Decoy(), Strict(), SIMPLE)}
