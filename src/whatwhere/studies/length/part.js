"use strict";
/* Accuracy against input length, measured and foretold, with the paper's statement. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results } = whatwhere;
  const { chart, plot, KINDS } = whatwhere.chart;
  const PAPER = { length: 850, accuracy: 0.9, task: "letter" };
  const look = (task) => KINDS[task === "number" ? "positional" : "symbolic"];

  function length() {
    const tasks = whatwhere.tasks.filter((task) => results(task, "length"));
    if (!tasks.length) return null;
    const chosen = { hop: 0, variation: "as trained", chain: false, log: true };
    const of = (task) => results(task, "length").filter((row) => row.hop === chosen.hop && row.variation === chosen.variation);
    const chain = (task, source) => (results(task, "chain") ?? []).filter((row) => row.hop === chosen.hop && row.source === source && row.rule === "mass");
    const longest = d3.max(tasks, (task) => d3.max(results(task, "length"), (row) => row.length));
    const shortest = d3.min(tasks, (task) => d3.min(results(task, "length"), (row) => row.length));
    const tip = (task) => (row) => `${task}, ${row.length} tokens\n${number(row.accuracy, 3)} (${number(row.low, 3)} to ${number(row.high, 3)}), ${row.inputs} inputs`;
    // Written out, because a logarithmic axis would leave out every label but the round ones.
    const ticks = (width) => (width < 500 ? [17, 33, 65, 145, 325, 850] : chosen.log ? [17, 25, 33, 49, 65, 97, 145, 217, 325, 500, 850] : [17, 145, 325, 500, 850]).filter((n) => n >= shortest && n <= longest);
    const made = chart({
      name: "length",
      title: "Accuracy against input length",
      alt: "Accuracy of both models on longer inputs, with 95 % intervals and the paper’s statement",
      rows: () => tasks.flatMap((task) => results(task, "length").map((row) => ({ task, ...row }))),
      draw: (width) =>
        plot({
          width, height: 320, marginBottom: 36, marginRight: 60,
          x: { type: chosen.log ? "log" : "linear", axis: null, domain: [shortest, longest] },
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            Plot.axisX(ticks(width), { text: String, label: "tokens" }),
            PAPER.length <= longest && tasks.includes(PAPER.task)
              ? [Plot.ruleY([PAPER], { y: "accuracy", x1: shortest, x2: "length", stroke: "var(--soft)", strokeDasharray: "6 3" }), Plot.dot([PAPER], { x: "length", y: "accuracy", symbol: "star", r: 6, fill: "var(--soft)" }), Plot.text([PAPER], { x: "length", y: "accuracy", text: () => "paper: letter above 0.9 up to 850", textAnchor: "end", dx: -10, dy: 12, fill: "var(--soft)" })]
              : null,
            ...tasks.flatMap((task) => {
              const { color, dash, symbol } = look(task);
              return [
                Plot.areaY(of(task), { x: "length", y1: "low", y2: "high", fill: color, fillOpacity: 0.14 }),
                chosen.chain ? ["measured", "foretold"].map((source) => Plot.lineY(chain(task, source), { x: "length", y: "share", stroke: color, strokeWidth: 1.2, strokeDasharray: source === "foretold" ? "1 3" : "6 2 1 2" })) : null,
                Plot.lineY(of(task), { x: "length", y: "accuracy", stroke: color, strokeWidth: 2.2, strokeDasharray: dash }),
                Plot.dot(of(task), { x: "length", y: "accuracy", fill: color, symbol, r: 3.5, title: tip(task) }),
                Plot.text(of(task).slice(-1), { x: "length", y: "accuracy", text: () => task, textAnchor: "start", dx: 8, fill: color, fontWeight: 600 }),
              ];
            }),
          ],
        }),
      note: "Bands are 95 % intervals. The paper gives no curve in numbers: it states that the letter model stays above 90 % up to 850 tokens and that the number model “barely” generalises.",
    });
    const variations = [...new Set(tasks.flatMap((task) => results(task, "length").map((row) => row.variation)))];
    const hops = d3.sort(new Set(tasks.flatMap((task) => results(task, "length").map((row) => row.hop))));
    const hop = whatwhere.controls.select({ label: "Hops", options: hops.map((h) => [h, h ? String(h) : "mean over hops"]), value: 0, onChange: (value) => { chosen.hop = Number(value); made.redraw(); } });
    const variation = whatwhere.controls.select({ label: "At inference", options: variations.map((name) => [name, name]), value: chosen.variation, onChange: (value) => { chosen.variation = value; made.redraw(); } });
    const log = whatwhere.controls.toggle({ label: "logarithmic length", value: true, onChange: (value) => { chosen.log = value; made.redraw(); } });
    const foretold = whatwhere.controls.toggle({ label: "what attention says", value: false, onChange: (value) => { chosen.chain = value; made.redraw(); } });
    const breaks = tasks.flatMap((task) =>
      (results(task, "breaks") ?? []).filter((row) => row.hop === 0 && row.threshold === 0.5 && (row.what === "accuracy" || row.what === "chain mass")).map((row) => ({ task, ...row })),
    );
    const table = breaks.length
      ? whatwhere.table.table(
          [
            ["Model", (row) => row.task],
            ["What falls below one half", (row) => (row.what === "accuracy" ? "accuracy" : "inputs whose every hop holds its attention")],
            ["", (row) => row.source],
            ["at length", (row) => (row.length === null ? `not up to ${row.longest}` : number(row.length, 0)), "number"],
            ["95 %", (row) => (row.length === null ? "" : `${number(row.low, 0)} to ${number(row.high, 0)}`), "number"],
          ],
          breaks,
          "Where it breaks: measured on longer inputs, and foretold from inputs of the training length alone",
        )
      : null;
    const has = tasks.some((task) => results(task, "chain"));
    return el(
      "div",
      {},
      el("p", {}, "Inputs grow by further target tokens put before the window, so no distance on a path changes. What was trained on 17 tokens is asked here at up to ", String(longest), "."),
      el("div", { class: "controls" }, hop.element, variation.element, log.element, has ? foretold.element : null),
      made.element,
      has ? el("p", { class: "note" }, "“What attention says”: the share of inputs on which every working head keeps more than half of its attention on the right key, measured at that length (dash-dot) and foretold from inputs of 17 tokens (dotted).") : null,
      table,
    );
  }

  whatwhere.length = length;
})();
