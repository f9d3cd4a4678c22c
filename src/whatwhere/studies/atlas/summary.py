"""The terminal summary of the atlas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whatwhere.studies.atlas.claim_map import (
    DEPENDS,
    FAILS,
    FEWEST_CONDITIONS,
    HOLDS,
    share_of_conditions,
    widely_tested,
)
from whatwhere.studies.atlas.predictions import NOT_ANSWERED, read_predictions
from whatwhere.studies.atlas.seven_questions import HALF, MOST
from whatwhere.studies.atlas.tables import OUTCOMES, Answer, Cell, Item, Missing, RecipePair
from whatwhere.studies.results import Results
from whatwhere.studies.seed_means import FEWEST_SEEDS, estimate_text
from whatwhere.studies.terminal import remark, table

SIGNS = {HOLDS: "+", FAILS: "-", DEPENDS: "~"}


def summary(results: Results) -> Sequence[RenderableType]:
    """The runs, the answers with their predictions, and a short map."""
    items, cells = results.rows("items", Item), results.rows("map", Cell)
    blocks: list[RenderableType] = [f"The atlas {escape(results.name)}: {_run(items)}", _learned(items)]
    blocks += missing_note(results.rows("missing", Missing))
    pairs = results.rows("recipes", RecipePair)
    return [*blocks, *_answers(results.rows("answers", Answer)), *_recipes(pairs), *_map(cells)]


def missing_note(missing: Sequence[Missing], what: str = "items") -> list[RenderableType]:
    """How many items have no results, and the reason for the first; empty if all have."""
    if not missing:
        return []
    first = missing[0]
    sentence = f"{len(missing)} {what} have no results. The first: {first.item} ({first.status}) {first.problem}"
    return [remark(sentence.strip())]


def _run(items: Sequence[Item]) -> str:
    seeds = sorted({item.seed for item in items})
    conditions = {(item.task, item.condition) for item in items}
    learned = sum(item.learned for item in items)
    return (
        f"{len(items)} runs, {len(conditions)} conditions, seeds {', '.join(map(str, seeds))}. {learned} of them learn "
        "their task (every hop class at 0.9 or more); the rest count apart."
    )


def _learned(items: Sequence[Item]) -> Table:
    """How many seeds learn, by condition and task."""
    made = table("condition", "letter", "number", left=("condition",), title="\nSeeds that learn")
    runs = Counter((item.condition, item.task) for item in items)
    learned = Counter((item.condition, item.task) for item in items if item.learned)
    for condition in dict.fromkeys(item.condition for item in items):
        cells = (
            f"{learned[condition, task]} of {runs[condition, task]}" if runs[condition, task] else ""
            for task in ("letter", "number")
        )
        made.add_row(escape(condition), *(f" {cell}" for cell in cells))
    return made


def _answers(rows: Sequence[Answer]) -> list[RenderableType]:
    """Each question with its numbers, and what was expected of each; the table and the page say it in sentences."""
    blocks: list[RenderableType] = []
    answered = [row for row in rows if row.came_out != NOT_ANSWERED]
    for name, question in read_predictions().items():
        mine = [row for row in answered if row.question == name]
        blocks += [Text(f"\n{question.question}", style="bold")] if mine else []
        for row in mine:
            came = _upper(row.came_out.replace("otherwise", "not as expected"))
            sentence = f"{came}. {_upper(row.number)}: {estimate_text(row.value)}; expected {row.threshold}."
            blocks.append(Padding(Text(sentence), (0, 0, 0, 2)))
    if left := len(rows) - len(answered):
        blocks.append(f"\n{left} of {len(rows)} numbers are not answered yet: the table answers says what each needs.")
    sentence = (
        f"Intervals are 95 %, t over seeds; with three seeds they are wide. Fewer than {FEWEST_SEEDS} seeds leave an "
        "answer open. What is expected was fixed before the first run. The table answers and the page say more."
    )
    return [*blocks, remark(sentence)]


def _recipes(pairs: Sequence[RecipePair]) -> list[RenderableType]:
    """The preset beside the authors' recipe; nothing without runs by that."""
    if not pairs:
        return []
    title = "\nThe preset short beside the authors' recipe: means over seeds"
    made = table("outcome", "task", "condition", "short", "paper", left=("outcome", "task", "condition"), title=title)
    for row in pairs:
        numbers = (f" {one.value:.2f} ({one.n})" for one in (row.short, row.paper))
        made.add_row(OUTCOMES[row.outcome], f" {row.task}", f" {escape(row.condition)}", *numbers)
    return [made, remark("In brackets: seeds.")]


def _map(cells: Sequence[Cell]) -> list[RenderableType]:
    """One line for each claim that does not hold nearly everywhere: where it holds, fails and depends on the seed."""
    title = f"\nThe map: claims with a share below {MOST}"
    made = table("claim", "about", "holds", "fails", "depends", "share", left=("claim", "about"), title=title)
    shares = share_of_conditions(cells)
    for claim in dict.fromkeys(cell.claim for cell in cells if shares[cell.claim] < MOST):
        mine = [cell for cell in cells if cell.claim == claim]
        count = Counter(cell.verdict for cell in mine)
        numbers = (str(count[verdict]) for verdict in SIGNS)
        made.add_row(escape(claim), f" {mine[0].about}", *(f" {n}" for n in numbers), f" {shares[claim]:.2f}")
    wide = share_of_conditions(widely_tested(cells)).values()
    held, failed = sum(share >= MOST for share in wide), sum(share < HALF for share in wide)
    sentence = (
        f"Conditions in which a claim holds with every seed, fails with every seed, or depends on the seed; share: of "
        f"seeds, mean over conditions. Of {len(wide)} claims tested under {FEWEST_CONDITIONS} or more, {held} "
        f"reach {MOST} and {failed} stay below {HALF}. The table map has all."
    )
    return [made, remark(sentence)]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
