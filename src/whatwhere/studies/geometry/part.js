"use strict";
/* Which rotary frequencies a head uses, and what keys and queries look like there; null where it was not measured. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, state, onChoice } = whatwhere;
  const { chart, plot } = whatwhere.chart;
  const ofHead = (table) => (results(state.task, table) ?? []).filter((row) => row.layer === state.layer && row.head === state.head);
  const MEASURES = { variance: "share of the logits’ variance", norm: "norm", margin: "margin" };

  function spectrum() {
    if (!whatwhere.tasks.some((task) => results(task, "frequency"))) return null;
    let measure = "variance";
    const rows = () => ofHead("frequency").filter((row) => row.measure === measure);
    const made = chart({
      name: "head-frequencies",
      title: "Frequencies that it uses",
      alt: "Weight of each rotary plane in the chosen head, from fast to slow",
      rows: () => rows().map((row) => ({ task: state.task, ...row })),
      draw: (width) => {
        const [id] = ofHead("ids").filter((row) => row.measure === measure);
        return plot({
          width, height: 210, marginBottom: 36, marginRight: 14,
          x: { label: "frequency ID, fast to slow", domain: [0.4, (d3.max(rows(), (row) => row.plane) ?? 64) + 0.6], ticks: 8 },
          y: { label: null, grid: true, ticks: 4 },
          marks: [
            Plot.rectY(rows(), { x1: (row) => row.plane - 0.4, x2: (row) => row.plane + 0.4, y: "weight", fill: "var(--accent)", title: (row) => `ID ${row.plane}, frequency ${row.frequency.toPrecision(3)}: ${row.weight.toPrecision(3)} (${row.low.toPrecision(3)} to ${row.high.toPrecision(3)})` }),
            Plot.ruleY([0]),
            id ? Plot.ruleX([id.weighted_id], { stroke: "var(--text)", strokeDasharray: "4 3" }) : null,
            id ? Plot.text([id.weighted_id], { x: Number, frameAnchor: "top", text: () => `mean ${number(id.weighted_id, 1)}`, dx: 4, textAnchor: "start" }) : null,
            id?.paper_id ? Plot.text([id.paper_id], { x: Number, frameAnchor: "top", dy: 14, text: () => `▾ paper ${id.paper_id}`, textAnchor: id.paper_id > 50 ? "end" : "start", dx: -4, fill: "var(--soft)" }) : null,
          ],
        });
      },
    });
    const list = whatwhere.controls.select({ label: "Weighed by", options: Object.entries(MEASURES), value: measure, onChange: (value) => { measure = value; made.redraw(); } });
    made.element.querySelector("figcaption").after(el("div", { class: "controls" }, list.element));
    onChoice((_, change) => (change.task || "layer" in change) && made.redraw());
    return made.element;
  }

  function plane() {
    if (!whatwhere.tasks.some((task) => results(task, "vectors"))) return null;
    const made = chart({
      name: "head-plane",
      title: "Keys and queries in its dominant plane",
      alt: "Mean key and query of each token in the plane that the chosen head uses most, before rotation",
      rows: () => ofHead("vectors").map((row) => ({ task: state.task, ...row })),
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
    onChoice((_, change) => (change.task || "layer" in change) && made.redraw());
    return made.element;
  }

  /** The mean frequency of every layer, both models, beside the paper's table. */
  function allHeads() {
    const rows = whatwhere.tasks.flatMap((task) => (results(task, "ids") ?? []).filter((row) => row.measure === "variance").map((row) => ({ task, ...row })));
    if (!rows.length) return null;
    const tasks = [...new Set(rows.map((row) => row.task))];
    const made = chart({
      name: "frequency-ids",
      title: "Mean frequency ID of every layer, and the paper’s",
      alt: "Weighted frequency ID by layer for each model, beside the paper’s table",
      rows: () => rows,
      draw: (width) =>
        plot({
          width, height: 230, marginBottom: 36,
          x: { label: "layer", ticks: d3.range(0, 1 + d3.max(rows, (row) => row.layer)), domain: [-0.5, 0.5 + d3.max(rows, (row) => row.layer)], tickFormat: "d" },
          y: { label: "ID (1 is the fastest)", domain: [64, 0], grid: true, ticks: 5 },
          marks: tasks.flatMap((task) => {
            const { color, symbol, dash } = whatwhere.chart.KINDS[task === "number" ? "positional" : "symbolic"];
            const mine = rows.filter((row) => row.task === task);
            const dx = task === "number" ? -5 : 5;
            return [
              Plot.lineY(mine, { x: "layer", y: "weighted_id", stroke: color, strokeDasharray: dash, strokeOpacity: 0.6, dx }),
              Plot.ruleX(mine, { x: "layer", y1: "low", y2: "high", stroke: color, dx }),
              Plot.dot(mine, { x: "layer", y: "weighted_id", fill: color, symbol, r: 4, dx, title: (row) => `${task} layer ${row.layer}: ${number(row.weighted_id, 1)} (${number(row.low, 1)} to ${number(row.high, 1)}); dominant ID ${row.dominant}` }),
              Plot.dot(mine.filter((row) => row.paper_id), { x: "layer", y: "paper_id", stroke: color, symbol, fill: "none", r: 4.5, strokeWidth: 1.6, dx, title: (row) => `the paper, ${task} layer ${row.layer}: ${row.paper_id}` }),
            ];
          }),
        }),
      note: "Filled: measured here (share of variance, 95 % interval). Hollow: the paper’s table. ● number, ■ letter.",
    });
    return made.element;
  }

  whatwhere.geometry = { spectrum, plane, allHeads };
})();
