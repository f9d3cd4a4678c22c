import numpy as np
import pytest

from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.picture import draw

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
