"use strict";
/* The map of claims and conditions; a cell opens the items behind it with their curves. Then the questions. */
(() => {
  const { el, number, significant } = whatwhere.dom;
  const { results, extra, modelsWith } = whatwhere;
  const { chart, plot } = whatwhere.chart;
  const STUDY = "atlas";
  const SIGNS = { holds: "+", fails: "–", depends: "±" };
  const HOPS = ["var(--hop1)", "var(--hop2)", "var(--hop3)", "var(--hop4)"];
  const DASHES = [null, "8 2", "4 2", "2 2"];
  const [name] = modelsWith(STUDY, "items"); // an atlas is no model, but its results lie where those of a model would
  const all = (table) => results(name, STUDY, table) ?? [];
  const words = () => extra(name, STUDY) ?? { claims: {}, outcomes: {}, questions: {} };
  const titleOf = (claim) => words().claims[claim]?.title ?? claim;

  /** The base first, then changes of one setting, then of several. */
  const conditionsOf = (cells) => {
    const found = [...new Set(all("items").map((row) => row.condition))].filter((one) => cells.some((cell) => cell.condition === one));
    return d3.sort(found, (one) => (one === "base" ? 0 : one.split(", ").length));
  };

  /** Learning curves of some items, one small drawing each. */
  function curves(items) {
    return el(
      "div",
      { class: "columns" },
      items.map((item) => {
        const rows = all("curves").filter((row) => row.item === item.item);
        const hops = d3.sort(new Set(rows.map((row) => row.hop)));
        return chart({
          name: `curve-${item.item}`.replaceAll(/[^\w-]/g, "-"),
          title: `${item.task}, seed ${item.seed}${item.learned ? "" : " (did not learn)"}`,
          alt: `Accuracy of ${item.item} by hop class along training`,
          rows: () => rows,
          draw: (width) =>
            plot({
              width, height: 170, marginRight: 10,
              x: { label: "step", ticks: 4 },
              y: { domain: [0, 1], label: null, grid: true, ticks: 4 },
              marks: hops.map((hop, i) => Plot.lineY(rows.filter((row) => row.hop === hop), { x: "step", y: "accuracy", stroke: HOPS[i % 4], strokeDasharray: DASHES[i % 4], strokeWidth: 1.8 })),
            }),
        }).element;
      }),
    );
  }

  /** What a cell rests on: the value with each seed, and the items' curves. */
  function details(cell) {
    const verdicts = all("verdicts").filter((row) => row.claim === cell.claim);
    const items = all("items").filter((item) => item.condition === cell.condition && (cell.about === "both" || item.task === cell.about));
    const judged = items.flatMap((item) => verdicts.filter((row) => row.item === item.item).map((row) => ({ ...row, seed: item.seed })));
    const outcome = (row) => (row.met === null ? `not tested: ${row.why}` : row.met ? "met" : "not met");
    return [
      el("h3", {}, titleOf(cell.claim)),
      el("p", {}, `${cell.condition}: ${cell.verdict}, with ${Math.round(cell.share * cell.n)} of ${cell.n} seeds. Asked for: ${words().claims[cell.claim]?.threshold ?? "–"}.`),
      whatwhere.table.table(
        [
          ["Item", (row) => row.item],
          ["with", (row) => row.partner ?? ""],
          ["value", (row) => significant(row.value), "number"],
          ["", outcome],
        ],
        judged,
        "The value with each seed",
      ),
      curves(items),
    ];
  }

  function map() {
    if (!name) return null;
    const chosen = { paper: false };
    const place = el("div", {});
    const opened = el("div", { id: "atlas-details", "aria-live": "polite" }, el("p", { class: "note" }, "Choose a cell: the items behind it appear here with their learning curves."));

    function show() {
      const cells = all("map").filter((cell) => !chosen.paper || cell.kind === "trained");
      const conditions = conditionsOf(cells);
      const share = d3.rollup(cells, (rows) => d3.mean(rows, (row) => row.share), (row) => row.claim);
      const claims = d3.sort(share.keys(), (claim) => -share.get(claim));
      const at = d3.index(cells, (cell) => cell.claim, (cell) => cell.condition);
      const field = (claim, condition) => {
        const cell = at.get(claim)?.get(condition);
        if (!cell) return el("td", {});
        const held = `${Math.round(cell.share * cell.n)}/${cell.n}`;
        const text = `${titleOf(claim)}; ${condition}: ${cell.verdict}, ${held} seeds`;
        const open = (event) => {
          for (const old of place.querySelectorAll("[aria-pressed=true]")) old.setAttribute("aria-pressed", "false");
          event.currentTarget.setAttribute("aria-pressed", "true");
          opened.replaceChildren(...details(cell));
        };
        return el("td", {}, el("button", { type: "button", class: cell.verdict, title: text, "aria-label": text, "aria-pressed": "false", on: { click: open } }, cell.verdict === "depends" ? held : SIGNS[cell.verdict]));
      };
      place.replaceChildren(
        el(
          "div",
          { class: "scroll atlas", tabindex: 0, role: "region", "aria-label": "Claims by condition" },
          el(
            "table",
            {},
            el("caption", {}, "+ holds with every seed, – fails with every seed, 1/3 depends on the seed; empty: not tested"),
            el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Claim"), conditions.map((one) => el("th", { scope: "col" }, one)), el("th", { scope: "col" }, "share"))),
            el("tbody", {}, claims.map((claim) => el("tr", {}, el("th", { scope: "row" }, titleOf(claim)), conditions.map((one) => field(claim, one)), el("td", { class: "number" }, number(share.get(claim)))))),
          ),
        ),
      );
    }
    show();
    const items = all("items");
    const learned = items.filter((item) => item.learned).length;
    const paper = whatwhere.controls.toggle({ label: "the paper’s own statements alone", value: false, onChange: (value) => { chosen.paper = value; show(); } });
    return el(
      "div",
      {},
      el("p", {}, `${items.length} runs, seeds ${d3.sort(new Set(items.map((item) => item.seed))).join(", ")}; ${learned} of them learn their task, and the map is made of these. A condition is what differs from the preset “short”.`),
      el("div", { class: "controls" }, paper.element, whatwhere.table.csvButton("atlas-map", () => all("map"))),
      place,
      opened,
    );
  }

  function questions() {
    if (!name) return null;
    const asked = words().questions;
    const columns = [
      ["Number", (row) => row.number],
      ["Came out", (row) => row.came_out],
      ["What the data say", (row) => row.sentence],
      ["Expected before the runs", (row) => `${row.threshold}: ${row.expected}`],
    ];
    return el(
      "div",
      { id: "atlas-answers" },
      Object.entries(asked).flatMap(([id, question]) => [el("h3", {}, question), whatwhere.table.table(columns, all("answers").filter((row) => row.question === id), "Intervals are 95 %, t over seeds")]),
    );
  }

  /** Each change of one setting at the base: its effect on a chosen outcome. */
  function effects() {
    const rows = name ? all("effects").filter((row) => row.at === "base" && !row.factor.includes(" x ")) : [];
    return whatwhere.effects({ name: "atlas-effects", rows, first: "timing_gap", value: "difference", words: words().outcomes, label: (row) => (row.factor === "data" ? row.level : `${row.factor} ${row.level}`), title: "Difference from the base, paired by seed, with 95 % intervals over seeds" });
  }

  whatwhere.part({ id: "atlas", nav: "Atlas", title: "What the findings depend on", order: 52, make: map });
  whatwhere.part({ id: "questions", nav: "Questions", title: "Seven questions, and what was expected", order: 53, make: questions });
  whatwhere.part({ id: "effects", nav: "Effects", title: "What each setting does", order: 54, make: effects });
})();
