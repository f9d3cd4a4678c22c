"use strict";
/* Accuracy against input length, measured and predicted, with the paper's statement. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, modelsWith } = whatwhere;
  const { chart, plot, lookOf } = whatwhere.chart;
  const PAPER = { length: 850, accuracy: 0.9, model: "letter" };
  const STUDY = "length";
  const MEAN = "mean"; // a hop of null in the tables
  const ofHop = (row, hop) => (hop === MEAN ? row.hop === null : row.hop === Number(hop));

  function length() {
    const models = modelsWith(STUDY, "accuracy");
    if (!models.length) return null;
    const chosen = { hop: MEAN, variation: "as trained", chain: false, log: true };
    const all = models.flatMap((model) => results(model, STUDY, "accuracy").map((row) => ({ model, ...row })));
    const of = (model) => d3.sort(all.filter((row) => row.model === model && ofHop(row, chosen.hop) && row.variation === chosen.variation), (row) => row.length);
    const chain = (model, source) => d3.sort((results(model, STUDY, "chain") ?? []).filter((row) => ofHop(row, chosen.hop) && row.source === source && row.rule === "mass"), (row) => row.length);
    const [shortest, longest] = d3.extent(all, (row) => row.length);
    const trained = shortest;
    const tip = (row) => `${row.model}, ${row.length} tokens\n${number(row.accuracy, 3)} (${number(row.accuracy_low, 3)} to ${number(row.accuracy_high, 3)}), ${row.accuracy_n} inputs`;
    /** As many of the measured lengths as have room for their labels. */
    const spread = (lengths, width) => {
      const at = chosen.log ? d3.scaleLog([shortest, longest], [0, width]) : d3.scaleLinear([shortest, longest], [0, width]);
      return lengths.reduce((kept, n) => (kept.length && at(n) - at(kept.at(-1)) < 26 ? kept : [...kept, n]), []);
    };
    /** The last point of each model, and how far its name moves down to stand clear of the one above. */
    const labels = () => {
      const last = d3.sort(models.flatMap((model) => of(model).slice(-1)), (row) => -row.accuracy);
      let above = -Infinity;
      return last.map((row) => {
        const y = (1 - row.accuracy) * 264; // the height of the drawing's inside
        above = Math.max(y, above + 13);
        return [row, above - y];
      });
    };
    // Written out, because a logarithmic axis would leave out every label but the round ones.
    const ticks = (width) => spread(d3.sort(new Set(all.map((row) => row.length))), width - 140);
    const made = chart({
      name: "length",
      title: "Accuracy against input length",
      alt: "Accuracy of the models on longer inputs, with 95 % intervals and the paper’s statement",
      rows: () => all,
      draw: (width) =>
        plot({
          width, height: 320, marginBottom: 36, marginRight: 98,
          x: { type: chosen.log ? "log" : "linear", axis: null, domain: [shortest, longest] },
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            Plot.axisX(ticks(width), { text: String, label: "tokens" }),
            PAPER.length <= longest && models.includes(PAPER.model)
              ? [Plot.ruleY([PAPER], { y: "accuracy", x1: shortest, x2: "length", stroke: "var(--soft)", strokeDasharray: "6 3" }), Plot.dot([PAPER], { x: "length", y: "accuracy", symbol: "star", r: 6, fill: "var(--soft)" }), Plot.text([PAPER], { x: "length", y: "accuracy", text: () => "paper: letter above 0.9 up to 850", textAnchor: "end", dx: -10, dy: 12, fill: "var(--soft)" })]
              : null,
            ...models.flatMap((model) => {
              const { color, dash, symbol } = lookOf(model);
              return [
                Plot.areaY(of(model), { x: "length", y1: "accuracy_low", y2: "accuracy_high", fill: color, fillOpacity: 0.14 }),
                chosen.chain ? ["measured", "predicted"].map((source) => Plot.lineY(chain(model, source), { x: "length", y: "share", stroke: color, strokeWidth: 1.2, strokeDasharray: source === "predicted" ? "1 3" : "6 2 1 2" })) : null,
                Plot.lineY(of(model), { x: "length", y: "accuracy", stroke: color, strokeWidth: 2.2, strokeDasharray: dash }),
                Plot.dot(of(model), { x: "length", y: "accuracy", fill: color, symbol, r: 3.5, title: tip }),
              ];
            }),
            ...labels().map(([row, dy]) => Plot.text([row], { x: "length", y: "accuracy", text: () => row.model, textAnchor: "start", dx: 8, dy, fill: lookOf(row.model).color, fontWeight: 600 })),
          ],
        }),
      note: "Bands are 95 % intervals. The paper gives no curve in numbers: it states that the letter model stays above 90 % up to 850 tokens and that the number model “barely” generalises.",
    });
    const variations = [...new Set(all.map((row) => row.variation))];
    const hops = d3.sort(new Set(all.map((row) => row.hop).filter((hop) => hop !== null)));
    const hop = whatwhere.controls.select({ label: "Hops", options: [[MEAN, "mean over hops"], ...hops.map((hop) => [hop, String(hop)])], value: MEAN, onChange: (value) => { chosen.hop = value; made.redraw(); } });
    const variation = whatwhere.controls.select({ label: "At inference", options: variations.map((name) => [name, name]), value: chosen.variation, onChange: (value) => { chosen.variation = value; made.redraw(); } });
    const log = whatwhere.controls.toggle({ label: "logarithmic length", value: true, onChange: (value) => { chosen.log = value; made.redraw(); } });
    const predicted = whatwhere.controls.toggle({ label: "what attention says", value: false, onChange: (value) => { chosen.chain = value; made.redraw(); } });
    const breaks = models.flatMap((model) =>
      (results(model, STUDY, "breaks") ?? []).filter((row) => row.hop === null && row.threshold === 0.5 && (row.what === "accuracy" || row.what === "chain mass")).map((row) => ({ model, ...row })),
    );
    const bound = (value) => (value === null ? "beyond" : number(value, 0));
    const table = breaks.length
      ? whatwhere.table.table(
          [
            ["Model", (row) => row.model],
            ["What falls below one half", (row) => (row.what === "accuracy" ? "accuracy" : "inputs whose every hop holds its attention")],
            ["", (row) => row.source],
            ["at length", (row) => (row.length === null ? `not up to ${row.longest}` : number(row.length, 0)), "number"],
            ["95 %", (row) => (row.length === null ? "" : `${bound(row.length_low)} to ${bound(row.length_high)}`), "number"],
          ],
          breaks,
          "Where it breaks: measured on longer inputs, and predicted from inputs of the training length alone",
        )
      : null;
    const has = modelsWith(STUDY, "chain").length > 0;
    return el(
      "div",
      {},
      el("p", {}, "Inputs grow by further target tokens put before the window, so no distance on a path changes. What was trained on ", String(trained), " tokens is asked here at up to ", String(longest), "."),
      el("div", { class: "controls" }, hop.element, variation.element, log.element, has ? predicted.element : null),
      made.element,
      has ? el("p", { class: "note" }, "“What attention says”: the share of inputs on which every working head keeps more than half of its attention on the right key, measured at that length (dash-dot) and predicted from inputs of the training length (dotted).") : null,
      table,
    );
  }

  whatwhere.tiles(() =>
    modelsWith(STUDY, "breaks").flatMap((model) => {
      const broken = results(model, STUDY, "breaks").find((row) => row.what === "accuracy" && row.source === "measured" && row.hop === null && row.threshold === 0.5);
      if (!broken) return [];
      return broken.length === null ? [[`> ${broken.longest}`, `tokens: up to there the ${model} model is right more often than not`]] : [[`${Math.round(broken.length)}`, `tokens: there the ${model} model falls below one half`]];
    }),
  );
  whatwhere.part({ id: "length", nav: "Length", title: "Longer inputs", make: length });
})();
