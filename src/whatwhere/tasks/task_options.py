"""The parameters of a task as options: of ``whatwhere data``, of ``whatwhere train``, and of sweeps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from whatwhere.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """The parameters of a task; None leaves the paper's value."""

    target: Annotated[int | None, "Tokens of the target window (8)."] = None
    context: Annotated[int | None, "Pointers of the pre-target window, without the query (8)."] = None
    max_hops: Annotated[int | None, "The highest hop class (4)."] = None
    parts: Annotated[int | None, "Tokens that spell a pointer (1); number: digits, letter: 2 or 4."] = None
    integers: Annotated[int | None, "Integers (number task 16, letter task 8); with --parts above 1, the digits."] = (
        None
    )
    symbols: Annotated[int | None, "Number task: the alphabet (120)."] = None
    distractors: Annotated[str | None, "Number task: integers off the path, in-range (default) or any."] = None
    letters: Annotated[int | None, "Letter task: the alphabet (8)."] = None
    generator: Annotated[
        str | None, "Letter task: paper (default, the authors' data), decoy (leak-free), strict or simple."
    ] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Those that were chosen."""
        names = (field.name for field in fields(TaskOptions))
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def make(self, name: str) -> Task:
        """The task of a name with these parameters."""
        from whatwhere.tasks import make_task

        return make_task(name, **self.parameters)
