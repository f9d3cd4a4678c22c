"use strict";
/* Forecasts from the training length against the lengths at which models break, and how good each method is. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, modelsWith } = whatwhere;
  const { chart, plot, lookOf } = whatwhere.chart;
  const STUDY = "forecast";
  const METHODS = ["carried", "chain", "dispersion"];
  const TICKS = [17, 25, 50, 100, 200, 400, 1000];

  /** One row for each variant, threshold and method that predicts something: what it predicts, and what came. */
  function pairs(name) {
    const [variants, forecasts, breaks] = ["variants", "forecasts", "breaks"].map((table) => results(name, STUDY, table) ?? []);
    const key = (row) => JSON.stringify([row.model, row.variation, row.threshold]);
    const came = new Map(breaks.map((row) => [key(row), row]));
    const about = new Map(variants.map((row) => [JSON.stringify([row.model, row.variation]), row]));
    return forecasts.flatMap((row) => {
      const found = came.get(key(row));
      if (!found || (row.length === null && !row.beyond)) return [];
      const { task, tuned } = about.get(JSON.stringify([row.model, row.variation]));
      const censored = found.length === null;
      return [{ result: name, ...row, task, tuned, censored, predicted: row.beyond ? found.longest : row.length, measured: censored ? found.longest : found.length, low: found.length_low, high: found.length_high, longest: found.longest }];
    });
  }

  function forecast() {
    const names = modelsWith(STUDY, "breaks");
    const all = names.flatMap(pairs);
    if (!all.length) return null;
    const chosen = { method: METHODS[0], threshold: 0.5 };
    const shown = () => all.filter((row) => row.method === chosen.method && row.threshold === chosen.threshold);
    const ends = () => [0.9 * d3.min(shown(), (row) => Math.min(row.predicted, row.measured)), 1.1 * d3.max(all, (row) => row.longest)];
    const length = (value, row) => (value === null ? `beyond ${row.longest}` : number(value, 0));
    const tip = (row) => `${row.model}, ${row.variation}\npredicted ${row.beyond ? `beyond ${row.longest}` : number(row.predicted, 0)}, measured ${row.censored ? `beyond ${row.longest}` : number(row.measured, 0)} (${length(row.low, row)} to ${length(row.high, row)})\n${row.tuned ? "the method was chosen on these weights" : "held out"}`;
    const dots = (rows, symbol) => {
      const style = (row) => lookOf(row.task).color;
      return Plot.dot(rows, { x: "predicted", y: "measured", stroke: style, fill: (row) => (row.tuned ? "none" : style(row)), fillOpacity: 0.7, symbol, r: 5, title: tip });
    };
    const made = chart({
      name: "forecast",
      title: "Predicted against measured break",
      alt: "Length at which models break, predicted from inputs of the training length and measured",
      rows: () => all,
      draw: (width) => {
        if (!shown().length) return plot({ width, height: 40, marks: [] }); // no head works: the method says nothing
        const domain = ends();
        const ticks = TICKS.filter((tick) => tick >= domain[0] && tick <= domain[1]);
        return plot({
          width: Math.min(width, 460), height: 400, marginBottom: 40, marginLeft: 50,
          x: { type: "log", axis: null, domain }, y: { type: "log", axis: null, domain },
          marks: [
            Plot.axisX(ticks, { text: String, label: "predicted (tokens)" }),
            Plot.axisY(ticks, { text: String, label: "measured (tokens)" }),
            Plot.line([[domain[0], domain[0]], [domain[1], domain[1]]], { stroke: "var(--soft)" }),
            ["number", "letter"].map((task) => dots(shown().filter((row) => !row.censored && row.task === task), task === "number" ? "circle" : "square")),
            dots(shown().filter((row) => row.censored), "triangle"),
          ],
        });
      },
      note: "Filled: held out. Hollow: the method was chosen on these weights. Discs are number models, squares letter models; a triangle has not broken at the longest length measured.",
    });
    const method = whatwhere.controls.select({ label: "Method", options: METHODS.map((name) => [name, name]), value: chosen.method, onChange: (value) => { chosen.method = value; made.redraw(); } });
    const threshold = whatwhere.controls.select({ label: "Accuracy below", options: [["0.5", "0.5"], ["0.9", "0.9"]], value: "0.5", onChange: (value) => { chosen.threshold = Number(value); made.redraw(); } });
    const judged = names.flatMap((name) => (results(name, STUDY, "calibration") ?? []).filter((row) => ["held out", "tuned on"].includes(row.group)).map((row) => ({ result: name, ...row })));
    const between = (row, what) => (row[what] === null ? "–" : `${number(row[what], 2)} (${number(row[`${what}_low`], 2)} to ${number(row[`${what}_high`], 2)})`);
    const table = whatwhere.table.table(
      [
        ["Results", (row) => row.result],
        ["Variants", (row) => `${row.group}: ${row.broken} break, ${row.censored} do not`],
        ["Below", (row) => String(row.threshold), "number"],
        ["Method", (row) => row.method],
        ["log2 error (95 %)", (row) => between(row, "error"), "number"],
        ["Right order (95 %)", (row) => between(row, "concordance"), "number"],
      ],
      judged,
    );
    return el(
      "div",
      {},
      el("p", {}, "Every forecast was made from inputs of the training length, and written down before a longer input was run. “carried” lets further keys change what each layer hands on; “chain” leaves contents as they are; “dispersion” knows the mean margin alone."),
      el("div", { class: "controls" }, method.element, threshold.element),
      made.element,
      table,
    );
  }

  whatwhere.part({ id: "forecast", nav: "Forecast", title: "Where it breaks, predicted", make: forecast });
})();
