import numpy as np
import pytest

from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.picture import draw
from whatwhere.tasks.task import Task

FOUR_HOPS = "h1 h2 h7 h1 e1 d2 g3 f3 ed cf gc ac ba hd hd hf gb"


def four_hops() -> Batch:
    task = LetterTask()
    tokens = task.encode(FOUR_HOPS)[None]
    path = np.array([[16, 12, 11, 9, 7]], dtype=np.int32)
    return Batch(tokens, tokens[:, 7], np.array([4], dtype=np.int32), path)


def test_four_hops_look_like_a_walk_back():
    assert draw(LetterTask(), four_hops(), 0).plain.split("\n") == [
        "4 hops, answer f3",
        "├─────── target window ───────┤ ├───── pre-target window ─────┤  query",
        " h1  h2  h7  h1  e1  d2  g3  f3  ed  cf  gc  ac  ba  hd  hd  hf  gb ",
        "                             ┊       ┊       ┊   ┊               │",
        "                             ┊       ┊       ┊   ◀───────────────╯    to b",
        "                             ┊       ┊       ◀───╯                    to a",
        "                             ┊       ◀───────╯                        to c",
        "                             ◀───────╯                                to f",
        "",
    ]


@pytest.mark.parametrize("task", [NumberTask(), LetterTask(), NumberTask(integers=100, context=20, max_hops=6)])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_arrows_start_and_end_under_their_tokens(task, width):
    batch = task.sample(task.max_hops, seed=1)
    for row in range(len(batch)):
        lines = draw(task, batch, row, width).plain.split("\n")
        path = [p for p in batch.paths[row] if p >= 0]
        assert len(lines) == 4 + len(path)
        names = task.decode(batch.tokens[row]).split()
        for line, start, end in zip(lines[4:], path[:-1], path[1:], strict=False):
            assert lines[2][line.index("◀")] in names[end]
            assert lines[2][line.index("╯")] in names[start]


def test_the_paper_s_sequences_fit_a_terminal_of_80_columns():
    for task in (NumberTask(), LetterTask()):
        batch = task.sample(40, seed=2)
        assert max(len(line) for row in range(40) for line in draw(task, batch, row).plain.split("\n")) <= 80


def test_windows_are_shaded_and_the_path_is_coloured():
    picture = draw(LetterTask(), four_hops(), 0)
    styles = {picture.plain[span.start : span.end].strip(): str(span.style) for span in picture.spans}
    assert styles["h7"] == "on grey23"
    assert styles["hf"] == "on grey11"
    assert styles["f3"] == "bold bright_green on grey23"
    assert [styles[name] for name in ("ba", "ac", "cf")] == [
        f"bold bright_{colour} on grey11" for colour in ("cyan", "magenta", "yellow")
    ]
    assert styles["gb"] == "bold reverse"


def test_where_columns_are_few_one_space_parts_the_tokens():
    names = draw(LetterTask(), four_hops(), 0, width=40).plain.split("\n")[2]
    assert names.split() == LetterTask().decode(four_hops().tokens[0]).split()
    assert len(names) == 17 * 3


def lines_of(task: Task, text: str, path: list[int], width: int = 80) -> list[str]:
    tokens = task.encode(text)[None]
    batch = Batch(tokens, tokens[:, path[-1]], np.array([len(path) - 1], np.int32), np.array([path], np.int32))
    return draw(task, batch, 0, width).plain.split("\n")[:-1]


FEW = NumberTask(target=3, context=2, max_hops=3, symbols=30, integers=12)


def test_names_of_one_and_of_two_characters_stand_under_each_other():
    assert lines_of(FEW, "a ab b 1 2 3", [5, 2]) == [
        "1 hop, answer b",
        " target window pre-target window query",
        " a   ab  b   1   2   3  ",
        "         ┊           │",
        "         ◀───────────╯    3 back",
    ]


@pytest.mark.parametrize("width", [20, 31])
def test_where_columns_are_few_lines_still_end_under_their_tokens(width):
    assert lines_of(FEW, "a ab b 3 1 1", [5, 4, 3, 0], width) == [
        "3 hops, answer a",
        " target window pre-target window query",
        " a  ab b  3  1  1 ",
        " ┊        ┊  ┊  │",
        " ┊        ┊  ◀──╯   1 back",
        " ┊        ◀──╯      1 back",
        " ◀────────╯         3 back",
    ]
    assert lines_of(FEW, "a ab b 3 1 1", [5, 4, 3, 0], 32)[2] == " a   ab  b   3   1   1  ", "it fits just so"


def test_windows_too_narrow_for_a_ruler_have_their_names_alone():
    task = NumberTask(parts=2, integers=10, target=2, context=1, max_hops=2, symbols=3)
    assert lines_of(task, "b a 0 2 0 2", [5, 3, 1]) == [
        "2 hops, answer a",
        " target window pre-target windowquery",
        " b  a  0  2  0  2 ",
        "    ┊     ┊     │",
        "    ┊     ◀─────╯   2 back",
        "    ◀─────╯         2 back",
    ]
    for target, text, ruler in (
        (4, "a1 b2 c3 d4", " target window   pre-target window   query"),
        (5, "a1 b2 c3 d4 e5", "├─ target window ─┤  pre-target window   query"),
    ):
        task = LetterTask(target=target, context=5, max_hops=1)
        assert lines_of(task, f"{text} ba ba ba ba ba bc", [target + 5, 2])[1] == ruler


def test_the_colours_of_hops_begin_anew_after_the_fourth():
    task = LetterTask(target=3, context=5, max_hops=6, letters=10)
    tokens = task.encode("a1 b2 c3 da ed fe gf hg ih")[None]
    path = np.array([[8, 7, 6, 5, 4, 3, 0]], np.int32)
    picture = draw(task, Batch(tokens, tokens[:, 0], np.array([6], np.int32), path), 0)
    colours = [str(span.style) for span in picture.spans if picture.plain[span.start : span.end] == "◀"]
    assert colours == [f"bright_{name}" for name in ("cyan", "magenta", "yellow", "green", "cyan", "magenta")]
    styles = {picture.plain[span.start : span.end].strip(): str(span.style) for span in picture.spans}
    assert styles["a1"] == "bold bright_magenta on grey23"
    assert styles["┊"] == "dim" and styles["to a"] == "bright_magenta"
