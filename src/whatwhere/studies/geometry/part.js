"use strict";
/* Which rotary frequencies a head uses, and what keys and queries look like there; null where it was not measured. */
(() => {
  const { el, number, significant } = whatwhere.dom;
  const { results, modelsWith, state, onHead } = whatwhere;
  const { chart, plot, lookOf } = whatwhere.chart;
  const STUDY = "geometry";
  const ofHead = (table) => whatwhere.ofHead(STUDY, table);
  const MEASURES = { variance: "share of the logits’ variance", norm: "norm", margin: "margin" };

  function spectrum() {
    if (!modelsWith(STUDY, "weights").length) return null;
    let measure = "variance";
    const rows = () => ofHead("weights").filter((row) => row.measure === measure);
    const made = chart({
      name: "head-frequencies",
      title: "Frequencies that it uses",
      alt: "Weight of each rotary plane in the chosen head, from fast to slow",
      rows: () => rows().map((row) => ({ model: state.model, ...row })),
      draw: (width) => {
        const [id] = ofHead("ids").filter((row) => row.measure === measure);
        return plot({
          width, height: 210, marginBottom: 36, marginRight: 14,
          x: { label: "frequency ID, fast to slow", domain: [0.4, (d3.max(rows(), (row) => row.plane) ?? 64) + 0.6], ticks: 8 },
          y: { label: null, grid: true, ticks: 4 },
          marks: [
            Plot.rectY(rows(), { x1: (row) => row.plane - 0.4, x2: (row) => row.plane + 0.4, y: "weight", fill: "var(--accent)", title: (row) => `ID ${row.plane}, frequency ${row.frequency.toPrecision(3)}: ${significant(row.weight)} (${significant(row.weight_low)} to ${significant(row.weight_high)})` }),
            Plot.ruleY([0]),
            id ? Plot.ruleX([id.weighted_id], { stroke: "var(--text)", strokeDasharray: "4 3" }) : null,
            id ? Plot.text([id.weighted_id], { x: Number, frameAnchor: "top", text: () => `mean ${number(id.weighted_id, 1)}`, dx: 4, textAnchor: "start", stroke: "var(--ground)", strokeWidth: 4, fill: "var(--text)" }) : null,
            id?.paper_id ? Plot.text([id.paper_id], { x: Number, frameAnchor: "top", dy: 14, text: () => `▾ paper ${id.paper_id}`, textAnchor: id.paper_id > 50 ? "end" : "start", dx: -4, fill: "var(--soft)", stroke: "var(--ground)", strokeWidth: 4 }) : null,
          ],
        });
      },
    });
    const list = whatwhere.controls.select({ label: "Weighed by", options: Object.entries(MEASURES), value: measure, onChange: (value) => { measure = value; made.redraw(); } });
    made.element.querySelector("figcaption").after(el("div", { class: "controls" }, list.element));
    onHead(made.redraw);
    return made.element;
  }

  function plane() {
    if (!modelsWith(STUDY, "vectors").length) return null;
    const made = chart({
      name: "head-plane",
      title: "Keys and queries in its dominant plane",
      alt: "Mean key and query of each token in the plane that the chosen head uses most, before rotation",
      rows: () => ofHead("vectors").map((row) => ({ model: state.model, ...row })),
      draw: (width) => {
        const rows = ofHead("vectors");
        if (!rows.length) return el("p", { class: "note" }, "No plane of this head was measured.");
        const size = Math.min(width, 430);
        const reach = 1.12 * d3.max(rows, (row) => Math.hypot(row.x, row.y));
        const keys = rows.filter((row) => row.role === "key");
        const queries = rows.filter((row) => row.role === "query");
        const title = (row) => `${row.role} of ${row.name}: (${row.x.toPrecision(3)}, ${row.y.toPrecision(3)}), mean of ${row.count}`;
        const named = keys.length <= 20;
        return plot({
          width: size, height: size, margin: 26,
          x: { domain: [-reach, reach], label: null, ticks: 4 }, y: { domain: [-reach, reach], label: null, ticks: 4 },
          marks: [
            Plot.ruleX([0], { stroke: "var(--line)" }),
            Plot.ruleY([0], { stroke: "var(--line)" }),
            Plot.link(queries, { x1: 0, y1: 0, x2: "x", y2: "y", stroke: "var(--accent)", strokeOpacity: 0.35 }),
            Plot.dot(keys, { x: "x", y: "y", symbol: "square", r: named ? 9 : 3, fill: named ? "var(--uniform)" : "none", stroke: "var(--soft)", title }),
            named ? Plot.text(keys, { x: "x", y: "y", text: "name", fontWeight: 600, pointerEvents: "none" }) : null,
            Plot.dot(queries, { x: "x", y: "y", r: 9, fill: "var(--accent)", title }),
            Plot.text(queries, { x: "x", y: "y", text: "name", fill: "var(--ground)", fontWeight: 600, pointerEvents: "none" }),
          ],
        });
      },
      note: "Discs are queries, squares keys; each is the mean of its token, before rotation. Counting heads turn the query of integer i back by i times the frequency.",
    });
    onHead(made.redraw);
    return made.element;
  }

  /** The mean frequency of every layer, all models, beside the paper's table. */
  function allHeads() {
    const models = modelsWith(STUDY, "ids");
    const rows = models.flatMap((model) => results(model, STUDY, "ids").filter((row) => row.measure === "variance").map((row) => ({ model, ...row })));
    if (!rows.length) return null;
    const planes = d3.max(models, (model) => d3.max(results(model, STUDY, "weights") ?? [], (row) => row.plane)) ?? 64;
    const made = chart({
      name: "frequency-ids",
      title: "Mean frequency ID of every layer, and the paper’s",
      alt: "Weighted frequency ID by layer for each model, beside the paper’s table",
      rows: () => rows,
      draw: (width) =>
        plot({
          width, height: 230, marginBottom: 36,
          x: { label: "layer", ticks: d3.range(0, 1 + d3.max(rows, (row) => row.layer)), domain: [-0.5, 0.5 + d3.max(rows, (row) => row.layer)], tickFormat: "d" },
          y: { label: "ID (1 is the fastest)", domain: [planes, 0], grid: true, ticks: 5 },
          marks: models.flatMap((model, i) => {
            const { color, symbol, dash } = lookOf(model);
            const mine = rows.filter((row) => row.model === model);
            const dx = 9 * (i - (models.length - 1) / 2);
            return [
              mine.some((row) => row.head) ? null : Plot.lineY(mine, { x: "layer", y: "weighted_id", stroke: color, strokeDasharray: dash, strokeOpacity: 0.6, dx }),
              Plot.ruleX(mine, { x: "layer", y1: "weighted_id_low", y2: "weighted_id_high", stroke: color, dx }),
              Plot.dot(mine, { x: "layer", y: "weighted_id", fill: color, symbol, r: 4, dx, title: (row) => `${model} layer ${row.layer} head ${row.head}: ${number(row.weighted_id, 1)} (${number(row.weighted_id_low, 1)} to ${number(row.weighted_id_high, 1)}); dominant ID ${row.dominant ?? "–"}` }),
              Plot.dot(mine.filter((row) => row.paper_id && !model.endsWith("-control")), { x: "layer", y: "paper_id", stroke: color, symbol, fill: "none", r: 4.5, strokeWidth: 1.6, dx, title: (row) => `the paper, ${model} layer ${row.layer}: ${row.paper_id}` }),
            ];
          }),
        }),
      note: `Filled: measured here (share of variance, 95 % interval). Hollow: the paper’s table. ${models.map((model) => `${lookOf(model).glyph} ${model}`).join(", ")}.`,
    });
    return made.element;
  }

  /* Without scores from elsewhere, the heads can be chosen all the same. */
  whatwhere.headScores((model) => results(model, STUDY, "ids")?.map(({ layer, head }) => ({ layer, head, positional: null, symbolic: null })));
  whatwhere.headFacts(() => {
    const [id] = ofHead("ids").filter((row) => row.measure === "variance");
    return id ? [["Frequency ID: mean, dominant", `${number(id.weighted_id, 1)}, ${id.dominant ?? "–"}${id.paper_id ? `; paper ${id.paper_id}` : ""}`]] : [];
  });
  whatwhere.headPanel("left", spectrum);
  whatwhere.headPanel("left", allHeads);
  whatwhere.headPanel("right", plane);
})();
