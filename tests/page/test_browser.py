"""The page in a real browser: what it shows is what the tables hold, by mouse, by keyboard and on a phone."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from whatwhere.page import write_page
from whatwhere.store.storage import write_csv

Open = Callable[..., Page]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def saved(page: Page, figure: str) -> list[dict[str, str]]:
    """What the CSV button of a figure saves."""
    with page.expect_download() as download:
        page.locator(f"[data-figure={figure}] button.csv").click()
    assert download.value.suggested_filename == f"{figure}.csv"
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))


def slide(page: Page, selector: str, value: float) -> None:
    page.locator(selector).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def drawn(page: Page, figure: str) -> None:
    page.locator(f"[data-figure={figure}] svg").first.wait_for()


def test_accuracy_and_scores_follow_the_step_slider(small: Path, visit: Open) -> None:
    page = visit(small)
    steps = page.evaluate("whatwhere.steps")
    for at in (0, 24, len(steps) - 1):
        step = steps[at]
        slide(page, "#step", at)
        expect(page.locator("#step + output")).to_have_text(f"step {step}")
        for task in ("number", "letter"):
            metrics = [row for row in table(small.parent / task / "metrics.csv") if int(row["step"]) <= step][-1]
            accuracies = [float(metrics[f"accuracy_hop{hops}"]) for hops in (1, 2, 3, 4)]
            readout = page.locator(f"[data-readout=accuracy-{task}]").inner_text()
            assert readout.startswith(f"step {metrics['step']}: ")
            assert re.findall(r"\d\.\d{3}", readout) == [f"{accuracy:.3f}" for accuracy in accuracies]

            scores = table(small.parent / task / "scores.csv")
            last = max(int(row["step"]) for row in scores if int(row["step"]) <= step)
            labels = page.locator(f".headmap-frame[data-task={task}] button").evaluate_all(
                "(cells) => cells.map((cell) => cell.ariaLabel)"
            )
            here = [row for row in scores if int(row["step"]) == last]
            assert len(labels) == len(here) == 12
            for row, label in zip(here, labels, strict=True):
                assert label.startswith(f"layer {row['layer']} head {row['head']}: ")
                assert f"positional {float(row['positional']):.2f}, symbolic {float(row['symbolic']):.2f}" in label


def test_play_moves_the_slider_to_its_end_and_stops(small: Path, visit: Open) -> None:
    page = visit(small)
    last = page.evaluate("whatwhere.steps.length") - 1
    slide(page, "#step", last - 3)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#step")).to_have_value(str(last))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_choosing_a_head_shows_its_scores_and_attention(small: Path, visit: Open) -> None:
    page = visit(small)
    page.locator(".headmap-frame[data-task=letter] button").nth(2).click()
    expect(page.locator("#head-facts")).to_contain_text("letter task, layer 2, head 0")
    drawn(page, "head-scores")
    expected = [row for row in table(small.parent / "letter" / "scores.csv") if row["layer"] == "2"]
    rows = saved(page, "head-scores")
    for name in ("step", "positional", "symbolic", "entropy_share"):
        assert [float(row[name]) for row in rows] == [float(row[name]) for row in expected]
    drawn(page, "head-attention")
    attention = saved(page, "head-attention")
    assert len(attention) == 17 * 18 / 2
    for query in range(17):
        total = sum(float(row["attention"]) for row in attention if int(row["query"]) == query)
        assert total == pytest.approx(1, abs=0.01)


def test_a_press_on_the_map_chooses_head_and_step(small: Path, visit: Open) -> None:
    page = visit(small)
    drawn(page, "heads-by-step-number")
    svg = page.locator("[data-figure=heads-by-step-number] svg")
    place = svg.evaluate(
        """(svg) => {
            const drawn = svg.closest("svg"), box = drawn.getBoundingClientRect();
            const band = drawn.scale("y"), k = box.width / drawn.viewBox.baseVal.width;
            return { x: k * drawn.scale("x").apply(1000), y: k * (band.apply("7") + band.bandwidth / 2) };
        }"""
    )
    svg.click(position=place)
    expect(page.locator("#head-facts")).to_contain_text("number task, layer 7, head 0")
    chosen = page.evaluate("whatwhere.state.step")
    assert chosen <= 1000 < min(step for step in page.evaluate("whatwhere.steps") if step > chosen)
    expect(page.locator("#step + output")).to_have_text(f"step {chosen}")


def test_an_edited_sequence_is_followed_or_refused(small: Path, visit: Open) -> None:
    page = visit(small)
    tokens, message = page.locator(".tokens input"), page.locator("#sequence-message")
    expect(tokens).to_have_count(17)
    for position, token in enumerate([*"chnabdef", *"111111111"]):
        tokens.nth(position).fill(token)
    expect(message).to_contain_text("9 hops")
    expect(message).to_contain_text("the answer is f")
    tokens.last.fill("16")
    expect(message).to_contain_text("1 hop, 16 (16) → c (0): the answer is c.")
    tokens.last.fill("17")
    expect(message).to_contain_text("Position 16: “17” is no token of this task. Expected a symbol (a to dp)")
    expect(tokens.last).to_have_attribute("aria-invalid", "true")
    expect(page.locator("[data-figure=hops]")).to_contain_text("Mend the marked token")
    tokens.nth(8).fill("12")
    tokens.last.fill("8")
    expect(message).to_contain_text("No answer: “12” at position 8 points at nothing before it.")
    page.get_by_role("button", name="Undo my edits").click()
    expect(message).to_contain_text("1 hop,")
    page.locator("#sequence select").first.select_option("letter")
    expect(tokens.last).to_have_value(re.compile("^[a-h]{2}$"))


def test_hostile_words_in_the_sequence_stay_words(small: Path, visit: Open) -> None:
    page = visit(small)
    field = page.locator(".tokens input").nth(3)
    field.evaluate("(input) => input.removeAttribute('maxlength')")
    field.fill("<img src=x onerror=alert(1)>")
    expect(page.locator("#sequence-message")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("#sequence-message img").count() == 0


def test_a_swap_stays_in_the_positional_head_and_moves_in_the_symbolic_one(small: Path, visit: Open) -> None:
    page = visit(small)
    expect(page.locator("[data-said=positional]")).to_contain_text("stays on position")
    expect(page.locator("[data-said=symbolic]")).to_contain_text("follows its token")
    drawn(page, "swap-symbolic")
    rows = saved(page, "swap-symbolic")
    [i, j] = [at for at, row in enumerate(rows) if abs(float(row["before"]) - float(row["after"])) > 0.5]
    assert float(rows[i]["before"]) == pytest.approx(float(rows[j]["after"]), abs=0.05)
    slide(page, "[data-swap=symbolic] input[type=range] >> nth=0", i)
    slide(page, "[data-swap=symbolic] input[type=range] >> nth=1", i)
    rows = saved(page, "swap-symbolic")
    assert [row["before"] for row in rows] == [row["after"] for row in rows]


def test_the_margin_follows_its_sliders(small: Path, visit: Open) -> None:
    from whatwhere.theory.discrepancy import index_smallest, retrieval_smallest

    page = visit(small)
    slide(page, "[data-control=letters]", 4)
    slide(page, "[data-control=longest]", 40)
    slide(page, "[data-control=index]", 0)  # log10 of the angle
    drawn(page, "discrepancy")
    rows = saved(page, "discrepancy")
    assert [int(row["n"]) for row in rows] == list(range(2, 41))
    for row in rows:
        n, theta = int(row["n"]), float(row["retrieval_theta"])
        assert float(row["index_smallest"]) == pytest.approx(index_smallest(n, 1.0))
        assert float(row["retrieval_smallest"]) == pytest.approx(retrieval_smallest(n, theta, 4))
    expect(page.locator("#discrepancy-said")).to_contain_text("over 4 letters")
    page.get_by_role("button", name="values").click()
    expect(page.locator("#discrepancy-said")).to_contain_text("Retrieval 0.0964")
    expect(page.locator("#discrepancy-said")).to_contain_text("up to 146 tokens")


def test_claims_are_shown_whole_and_hostile_text_does_not_run(small: Path, visit: Open) -> None:
    page = visit(small)
    assert page.title() != "ran"
    assert page.locator("img").count() == 0
    first = page.locator(".claim").first
    expect(first.locator(".title")).to_contain_text("</script><img src=x onerror=")
    first.locator("summary").click()
    for text in ("Section 3.1", "by eye", "0.25 (0.2 to 0.3)", "1,200", "0.25, 0.5", "about 1"):
        expect(first.locator("dl")).to_contain_text(text)
    page.locator("#claims select").select_option("holds")
    expect(first).to_be_hidden()
    expect(page.locator(".claim").nth(1)).to_be_visible()


def test_a_hostile_directory_name_does_not_run(small: Path, visit: Open, tmp_path: Path) -> None:
    directory = tmp_path / "<img src=x onerror=document.title='ran'>"
    (directory / "number").mkdir(parents=True)
    (directory / "number" / "metrics.csv").write_bytes((small.parent / "number" / "metrics.csv").read_bytes())
    page = visit(write_page(directory))
    assert page.title().startswith("<img src=x")
    assert page.locator("img").count() == 0
    expect(page.locator("#provenance")).to_contain_text("<img src=x onerror=")


def test_missing_parts_are_left_out_and_named(small: Path, visit: Open) -> None:
    page = visit(small)
    assert page.locator("#length").count() == 0
    assert page.locator("nav a", has_text="Length").count() == 0
    note = page.locator("#missing")
    expect(note).to_contain_text("letter: length/accuracy.csv")
    expect(note).to_contain_text(f"whatwhere length {small.parent / 'letter'}")


def test_everything_can_be_reached_and_moved_by_keyboard(small: Path, visit: Open) -> None:
    page = visit(small)
    reached, focused = [], ""
    for _ in range(400):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            """() => {
                const at = document.activeElement;
                const name = at.getAttribute("aria-label") ?? at.textContent.trim();
                return at === document.body ? "" : [at.tagName, at.id, at.className, name].join("|");
            }"""
        )
        if not focused:
            break
        reached.append(focused)
    names = "\n".join(reached)
    assert reached[0].startswith("A||skip|")
    for part in (
        "|step|",
        "Play",
        "layer 0 head 0",
        "Change to dark colours",
        "SUMMARY",
        "Undo my edits",
        "Save the data",
    ):
        assert part in names, part
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select")].filter((at) =>
            !(at.getAttribute("aria-label") || at.textContent.trim() || at.labels?.length)).length"""
    )
    assert unnamed == 0
    page.locator("#step").focus()
    page.keyboard.press("Home")
    expect(page.locator("#step + output")).to_have_text("step 0")
    page.locator(".headmap-frame[data-task=number] button[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#head-facts")).to_contain_text("number task, layer 2, head 0")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(small: Path, visit: Open, scheme: str) -> None:
    page = visit(small, color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 27)"}
    other = "dark" if scheme == "light" else "light"
    assert page.evaluate(ground) == colours[scheme]
    page.get_by_role("button", name=f"Change to {other} colours").click()
    assert page.evaluate(ground) == colours[other]
    page.emulate_media(media="print")
    assert page.evaluate(ground) == colours["light"]


def test_a_phone_need_not_scroll_sideways(small: Path, visit: Open) -> None:
    page = visit(small, **PHONE)
    for figure in ("accuracy-number", "heads-by-step-letter", "head-attention", "hops", "swap-positional"):
        drawn(page, figure)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    outside = page.evaluate(
        """() => [...document.querySelectorAll("main button, main input, main select, figure svg")]
            .filter((at) => at.getBoundingClientRect().right > 361).length"""
    )
    assert outside == 0


def test_a_model_with_several_heads_has_a_cell_for_each(tmp_path: Path, visit: Open) -> None:
    columns = ["step", "layer", "head", "positional", "symbolic", "entropy_share", "own", "tau", "inputs"]
    heads = [(step, layer, head) for step in (0, 10, 100) for layer in range(3) for head in range(2)]
    rows = [(*at, "" if at == (100, 2, 1) else 0.97, 0.02 + at[0] / 1000, 0.5, 0.1, 0.01, 8) for at in heads]
    write_csv(tmp_path / "number" / "scores.csv", columns, rows)
    page = visit(write_page(tmp_path))
    cells = page.locator(".headmap-frame[data-task=number] button")
    expect(cells).to_have_count(6)
    expect(cells.nth(5)).to_have_attribute("aria-label", re.compile("layer 2 head 1: undefined, positional .,"))
    cells.nth(4).click()
    expect(page.locator("#head-facts")).to_contain_text("layer 1, head 1")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#head-facts")).to_contain_text("layer 1, head 0")
    slide(page, "#step", 1)
    expect(cells.nth(0)).to_have_attribute("data-kind", "positional")
    drawn(page, "heads-by-step-number")
    expect(page.locator("[data-figure=heads-by-step-number] svg")).to_contain_text("2.1")


@pytest.mark.slow
def test_geometry_length_and_mechanism_are_those_of_the_tables(full: Path, visit: Open) -> None:
    page, run = visit(full), full.parent / "number"
    page.locator(".headmap-frame[data-task=number] button").nth(1).click()
    drawn(page, "head-frequencies")
    here = {"layer": "1", "head": "0"}
    expected = [row for row in table(run / "geometry" / "frequency.csv") if here.items() <= row.items()]
    expected = [row for row in expected if row["measure"] == "variance"]
    rows = saved(page, "head-frequencies")
    assert len(rows) == 64
    assert [float(row["weight"]) for row in rows] == [float(row["weight"]) for row in expected]
    page.locator("[data-figure=head-frequencies] select").select_option("norm")
    assert {row["measure"] for row in saved(page, "head-frequencies")} == {"norm"}

    vectors = [row for row in table(run / "geometry" / "vectors.csv") if here.items() <= row.items()]
    assert [(row["name"], float(row["x"])) for row in saved(page, "head-plane")] == [
        (row["name"], float(row["x"])) for row in vectors
    ]
    ablated = [row for row in table(run / "mechanism" / "ablation.csv") if here.items() <= row.items()]
    expect(page.locator("#head-facts")).to_contain_text(" ".join(f"{float(row['after']):.2f}" for row in ablated))

    drawn(page, "length")
    accuracy = table(run / "length" / "accuracy.csv")
    shown = saved(page, "length")
    assert [float(row["accuracy"]) for row in shown] == [float(row["accuracy"]) for row in accuracy]
    page.locator("#length select").first.select_option("3")
    dots = page.locator("[data-figure=length] g[aria-label=dot] title")
    third = [row for row in accuracy if (row["hop"], row["variation"]) == ("3", "as trained")]
    assert [text.split("\n")[1].split()[0] for text in dots.all_text_contents()] == [
        f"{float(row['accuracy']):.3f}" for row in third
    ]
    page.locator(".headmap-frame[data-task=letter] button").nth(1).click()
    expect(page.locator("[data-figure=head-plane]")).to_contain_text("No plane of this head was measured")
