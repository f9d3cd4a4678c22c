"""The page in a real browser: what it shows is what the tables hold, by mouse, by keyboard and on a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_browser import PHONE, Open, drawn, saved, slide, table
from page_results import HOSTILE, write_dynamics, write_geometry
from playwright.sync_api import expect

from whatwhere.page import build, write_page


@pytest.mark.slow
def test_accuracy_and_scores_follow_the_step_slider(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    steps = page.evaluate("whatwhere.steps")
    for at in (0, 24, len(steps) - 1):
        step = steps[at]
        slide(page, "#step", at)
        expect(page.locator("#step + output")).to_have_text(f"step {step}")
        for model in ("number", "letter"):
            dynamics = reproduction.parent / model / "dynamics"
            here = [row for row in table(dynamics / "accuracy.csv") if row["split"] == "validation"]
            accuracies = [f"{float(row['accuracy']):.3f}" for row in here if int(row["step"]) == step]
            readout = page.locator(f"[data-readout=accuracy-{model}]").inner_text()
            assert readout.startswith(f"step {step}: ")
            assert re.findall(r"\d\.\d{3}", readout) == accuracies

            labels = page.locator(f".headmap-frame[data-model={model}] button").evaluate_all(
                "(cells) => cells.map((cell) => cell.ariaLabel)"
            )
            scores = [row for row in table(dynamics / "scores.csv") if int(row["step"]) == step]
            assert len(labels) == len(scores) == 12
            for row, label in zip(scores, labels, strict=True):
                assert label.startswith(f"layer {row['layer']} head {row['head']}: ")
                if row["positional"]:
                    assert f"positional {float(row['positional']):.2f}, symbolic {float(row['symbolic']):.2f}" in label
                else:
                    assert "undefined, positional \u2013" in label


@pytest.mark.slow
def test_play_moves_the_slider_to_its_end_and_stops(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    last = page.evaluate("whatwhere.steps.length") - 1
    slide(page, "#step", last - 3)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#step")).to_have_value(str(last))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.slow
def test_choosing_a_head_shows_its_scores_and_attention(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    page.locator(".headmap-frame[data-model=letter] button").nth(2).click()
    expect(page.locator("#head-facts")).to_contain_text("letter model, layer 2, head 0")
    drawn(page, "head-scores")
    expected = [row for row in table(reproduction.parent / "letter" / "dynamics" / "scores.csv") if row["layer"] == "2"]
    rows = saved(page, "head-scores")
    for name in ("step", "positional", "symbolic", "entropy_share"):
        assert [float(row[name]) for row in rows] == [float(row[name]) for row in expected]
    drawn(page, "head-attention")
    attention = saved(page, "head-attention")
    assert len(attention) == 17 * 18 / 2
    for query in range(17):
        total = sum(float(row["attention"]) for row in attention if int(row["query"]) == query)
        assert total == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_a_press_on_the_map_chooses_head_and_step(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    drawn(page, "heads-by-step-number")
    svg = page.locator("[data-figure=heads-by-step-number] svg")
    place = svg.evaluate(
        """(svg) => {
            const drawn = svg.closest("svg"), box = drawn.getBoundingClientRect();
            const band = drawn.scale("y"), k = box.width / drawn.viewBox.baseVal.width;
            return { x: k * drawn.scale("x").apply(610), y: k * (band.apply("7") + band.bandwidth / 2) };
        }"""
    )
    svg.click(position=place)
    expect(page.locator("#head-facts")).to_contain_text("number model, layer 7, head 0")
    chosen = page.evaluate("whatwhere.state.step")
    assert chosen <= 610 < min(step for step in page.evaluate("whatwhere.steps") if step > chosen)
    expect(page.locator("#step + output")).to_have_text(f"step {chosen}")


@pytest.mark.slow
def test_an_edited_sequence_is_followed_or_refused(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
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


@pytest.mark.slow
def test_hostile_words_in_the_sequence_stay_words(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    field = page.locator(".tokens input").nth(3)
    field.evaluate("(input) => input.removeAttribute('maxlength')")
    field.fill("<img src=x onerror=alert(1)>")
    expect(page.locator("#sequence-message")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("#sequence-message img").count() == 0


@pytest.mark.slow
def test_a_swap_stays_in_the_positional_head_and_moves_in_the_symbolic_one(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    expect(page.locator("[data-sentence=positional]")).to_contain_text("stays on position")
    expect(page.locator("[data-sentence=symbolic]")).to_contain_text("follows its token")
    drawn(page, "swap-symbolic")
    rows = saved(page, "swap-symbolic")
    [i, j] = [at for at, row in enumerate(rows) if abs(float(row["before"]) - float(row["after"])) > 0.5]
    assert float(rows[i]["before"]) == pytest.approx(float(rows[j]["after"]), abs=0.05)
    slide(page, "[data-swap=symbolic] input[type=range] >> nth=0", i)
    slide(page, "[data-swap=symbolic] input[type=range] >> nth=1", i)
    rows = saved(page, "swap-symbolic")
    assert [row["before"] for row in rows] == [row["after"] for row in rows]


@pytest.mark.slow
def test_the_margin_follows_its_sliders(reproduction: Path, visit: Open) -> None:
    from whatwhere.theory.discrepancy import index_smallest, retrieval_smallest

    page = visit(reproduction)
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
    expect(page.locator("#discrepancy-sentence")).to_contain_text("over 4 letters")
    page.get_by_role("button", name="values").click()
    expect(page.locator("#discrepancy-sentence")).to_contain_text("Retrieval 0.0964")
    expect(page.locator("#discrepancy-sentence")).to_contain_text("up to 146 tokens")


@pytest.mark.slow
def test_claims_stand_by_kind_and_hostile_text_does_not_run(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
    assert page.title() != "ran"
    assert page.locator("img").count() == 0
    expect(page.locator("#claims h3")).to_have_text(["Trained models: 1 holds, 1 fails, 1 not tested"])
    basis = page.locator("#basis")
    expect(basis).to_contain_text("number (preset smoke, ")
    expect(basis).to_contain_text(re.compile("letter \\(preset smoke, data “.+”, seed 0\\)"))
    failed = page.locator(".claim[data-verdict=fails]")
    expect(failed.locator(".title")).to_contain_text("</script><img src=x onerror=")
    failed.locator("summary").click()
    for text in ("Section 3.1", "by eye", "0.25 (0.2 to 0.3)", "1,200", "0.25, 0.5", "about 1"):
        expect(failed.locator("dl")).to_contain_text(text)
    untested = page.locator(".claim[data-verdict='not tested']")
    expect(untested).to_be_hidden()
    page.locator("#claims select").select_option("")
    expect(untested).to_be_visible()
    page.locator("#claims select").select_option("holds")
    expect(failed).to_be_hidden()
    expect(page.locator(".claim[data-verdict=holds]")).to_be_visible()


@pytest.mark.slow
def test_a_hostile_directory_name_does_not_run(visit: Open, tmp_path: Path) -> None:
    directory = tmp_path / "<img src=x onerror=document.title='ran'>"
    write_dynamics(directory / "number", "number", layers=2)
    page = visit(write_page(directory))
    assert page.title().startswith("<img src=x")
    assert page.locator("img").count() == 0
    expect(page.locator("#lead")).to_contain_text("<img src=x onerror=")
    assert page.locator("#length").count() == 0  # parts without results are left out
    assert page.locator("nav a", has_text="Length").count() == 0
    expect(page.locator("#missing")).to_contain_text("number: length")
    expect(page.locator("#missing")).to_contain_text(f"whatwhere length MODEL --out {directory / 'number'}")


@pytest.mark.slow
def test_everything_can_be_reached_and_moved_by_keyboard(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction)
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
    page.locator(".headmap-frame[data-model=number] button[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#head-facts")).to_contain_text("number model, layer 2, head 0")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_colours_follow_the_system_and_the_button(reproduction: Path, visit: Open, scheme: str) -> None:
    page = visit(reproduction, color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 27)"}
    other = "dark" if scheme == "light" else "light"
    assert page.evaluate(ground) == colours[scheme]
    page.get_by_role("button", name=f"Change to {other} colours").click()
    assert page.evaluate(ground) == colours[other]
    page.emulate_media(media="print")
    assert page.evaluate(ground) == colours["light"]


@pytest.mark.slow
def test_a_phone_need_not_scroll_sideways(reproduction: Path, visit: Open) -> None:
    page = visit(reproduction, **PHONE)
    for figure in ("accuracy-number", "heads-by-step-letter", "head-attention", "hops", "swap-positional"):
        drawn(page, figure)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    outside = page.evaluate(
        """() => [...document.querySelectorAll("main button, main input, main select, figure svg")]
            .filter((at) => at.getBoundingClientRect().right > 361).length"""
    )
    assert outside == 0


@pytest.mark.slow
def test_a_model_with_several_heads_has_a_cell_for_each(tmp_path: Path, visit: Open) -> None:
    write_dynamics(tmp_path / "number", "number", layers=3, heads=2)
    page = visit(write_page(tmp_path))
    cells = page.locator(".headmap-frame[data-model=number] button")
    expect(cells).to_have_count(6)
    cells.nth(4).click()
    expect(page.locator("#head-facts")).to_contain_text("layer 1, head 1")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#head-facts")).to_contain_text("layer 1, head 0")
    slide(page, "#step", 0)
    expect(cells.nth(5)).to_have_attribute("aria-label", re.compile("layer 2 head 1: undefined, positional .,"))
    drawn(page, "heads-by-step-number")
    expect(page.locator("[data-figure=heads-by-step-number] svg")).to_contain_text("2.1")


@pytest.mark.slow
def test_geometry_length_and_mechanism_are_those_of_the_tables(reproduction: Path, visit: Open) -> None:
    page, run = visit(reproduction), reproduction.parent / "number"
    page.locator(".headmap-frame[data-model=number] button").nth(1).click()
    drawn(page, "head-frequencies")
    here = {"layer": "1", "head": "0"}
    expected = [row for row in table(run / "geometry" / "weights.csv") if here.items() <= row.items()]
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
    page.locator(".headmap-frame[data-model=letter] button").nth(1).click()
    expect(page.locator("[data-figure=head-plane]")).to_contain_text("No plane of this head was measured")


@pytest.mark.slow
def test_a_study_alone_lets_heads_be_chosen_without_scores(tmp_path: Path, visit: Open) -> None:
    write_geometry(tmp_path, "letter")
    page = visit(write_page(tmp_path / "geometry"))
    expect(page.locator("h1")).to_contain_text("Which rotary frequencies")
    expect(page.locator("nav a")).to_have_text(["Heads", "About"])
    page.locator(".headmap-frame button").nth(1).click()
    expect(page.locator("#head-facts")).to_contain_text("letter model, layer 1, head 0")
    drawn(page, "head-plane")
    expect(page.locator("[data-figure=head-plane] svg").first).to_contain_text(HOSTILE)


@pytest.mark.slow
def test_a_sweep_is_compared_on_a_page(tmp_path: Path, visit: Open) -> None:
    items = [
        ("a", "number", "done", 0.5, 30.0),
        ("b", "letter", "done", 1.0, None),
        ("c", HOSTILE, "failed", None, None),
    ]
    names = ("item", "group", "status", "accuracy_hop1", "length_half")
    rows = [dict(zip(names, item, strict=True)) for item in items]
    file = tmp_path / "sweep.html"
    data = {"heading": "rounds", "rows": rows, "varied": ["task"], "outcomes": ["accuracy_hop1", "length_half"]}
    file.write_text(build("rounds: a sweep", ["sweep"], data), encoding="utf-8")
    page = visit(file)
    expect(page.locator("h1")).to_have_text("rounds")
    expect(page.locator("#lead")).to_have_text("3 items, 2 done; varied: task.")
    drawn(page, "accuracy")
    assert [(row["item"], float(row["value"])) for row in saved(page, "accuracy")] == [("a", 0.5), ("b", 1.0)]
    assert [float(row["value"]) for row in saved(page, "length_half")] == [30.0]
    expect(page.locator("#items tbody tr")).to_have_count(3)
    assert page.locator("img").count() == 0


@pytest.mark.slow
def test_two_tables_of_scores_are_compared_on_a_page(tmp_path: Path, visit: Open) -> None:
    scores = ("positional_a", "positional_b", "symbolic_a", "symbolic_b")
    heads = [
        {"layer": 0, "head": 0, "label_a": "mixed", "label_b": HOSTILE, "same": False, **dict.fromkeys(scores, 0.5)},
        {"layer": 0, "head": 1, "label_a": "mixed", "label_b": "mixed", "same": True, **dict.fromkeys(scores, 0.25)},
    ]
    data = {
        "heading": "Which heads agree?", "names": [HOSTILE, "b"], "heads": heads, "left_out": 3,
        "correlations": {"positional": 0.5, "symbolic": None}, "confusion": {"mixed": {"mixed": 1}},
    }  # fmt: skip
    file = tmp_path / "agreement.html"
    file.write_text(build("Which heads agree?", ["agreement"], data), encoding="utf-8")
    page = visit(file)
    expect(page.locator("#lead")).to_contain_text("2 heads in both, 1 with the same label. 3 heads are in one table")
    drawn(page, "agreement-positional")
    assert [float(row["positional_b"]) for row in saved(page, "agreement-symbolic")] == [0.5, 0.25]
    expect(page.locator("#heads tbody tr")).to_have_count(1)
    assert page.locator("img").count() == 0
