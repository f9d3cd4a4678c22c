"use strict";
/* Chains beyond training: accuracy by hops, with blocks run again or not, and the layers that each hop takes. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, modelsWith } = whatwhere;
  const { chart, plot, key, lookOf } = whatwhere.chart;
  const STUDY = "hops";
  const NONE = "none";
  const named = (row) => (row.first === null ? NONE : row.first === row.last ? `block ${row.first}` : `blocks ${row.first}-${row.last}`);

  function hops() {
    const models = modelsWith(STUDY, "accuracy");
    if (!models.length) return null;
    const all = models.flatMap((model) => results(model, STUDY, "accuracy").map((row) => ({ model, ...row, blocks: named(row) })));
    const [most, trained] = [d3.max(all, (row) => row.hops), d3.max(all.filter((row) => row.trained), (row) => row.hops)];
    const chosen = { blocks: NONE, loops: 1 };
    const of = (model) => all.filter((row) => row.model === model && row.blocks === chosen.blocks && (chosen.blocks === NONE || row.loops === chosen.loops));
    const layers = models.flatMap((model) => (results(model, STUDY, "layers") ?? []).map((row) => ({ model, ...row })));
    const tip = (row) => `${row.model}, ${row.hops} hops\n${number(row.accuracy, 3)} (${number(row.accuracy_low, 3)} to ${number(row.accuracy_high, 3)}), ${row.accuracy_n} inputs; a guess ${number(row.guess, 2)}`;
    const X = { domain: [0.6, most + 0.4], ticks: d3.range(1, most + 1), tickFormat: String, label: "hops", grid: false };
    const shade = Plot.rect([0], { x1: 0.6, x2: trained + 0.5, fill: "var(--soft)", fillOpacity: 0.08 });
    const made = chart({
      name: "hops-accuracy",
      title: "Accuracy by hops",
      alt: `Accuracy of the models on chains of 1 to ${most} hops; they were trained on 1 to ${trained}`,
      rows: () => all,
      draw: (width) =>
        plot({
          width, height: 260, marginBottom: 36, x: X, y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            shade,
            ...models.flatMap((model) => {
              const { color, dash, symbol } = lookOf(model);
              return [
                Plot.ruleX(of(model), { x: "hops", y1: "accuracy_low", y2: "accuracy_high", stroke: color, strokeOpacity: 0.5 }),
                Plot.lineY(of(model), { x: "hops", y: "accuracy", stroke: color, strokeWidth: 2.2, strokeDasharray: dash }),
                Plot.dot(of(model), { x: "hops", y: "accuracy", fill: color, symbol, r: 4, title: tip }),
              ];
            }),
          ],
        }),
      note: "Shaded: the hop counts of training. Bars are 95 % intervals.",
    });
    const used = chart({
      name: "hops-layers",
      title: "Layers until the answer can be read",
      alt: "Layers that chains of each length take, against one layer per hop",
      rows: () => layers,
      draw: (width) =>
        plot({
          width, height: 240, marginBottom: 36, x: X, y: { label: null, grid: true, ticks: 6, domain: [0, 1 + d3.max([most, ...layers.map((row) => row.layers_high ?? 0)])] },
          marks: [
            shade,
            Plot.line([[1, 1], [most, most]], { stroke: "var(--soft)", strokeDasharray: "1 3" }),
            ...models.flatMap((model) => {
              const { color, dash, symbol } = lookOf(model);
              const rows = layers.filter((row) => row.model === model && row.layers !== null);
              return [
                Plot.lineY(rows, { x: "hops", y: "layers", stroke: color, strokeWidth: 2.2, strokeDasharray: dash }),
                Plot.dot(rows, { x: "hops", y: "layers", fill: color, symbol, r: 4, title: (row) => `${row.model}, ${row.hops} hops: ${number(row.layers, 2)} layers; never read in ${row.never} inputs` }),
              ];
            }),
          ],
        }),
      note: "Dotted: a layer per hop. Read by the model’s own unembedding at the last token.",
    });
    const stretches = [...new Set(all.map((row) => row.blocks))];
    const loops = d3.sort(new Set(all.map((row) => row.loops).filter((count) => count > 0)));
    const blocks = whatwhere.controls.select({ label: "Run again", options: stretches.map((name) => [name, name]), value: NONE, onChange: (value) => { chosen.blocks = value; made.redraw(); } });
    const times = whatwhere.controls.select({ label: "how often", options: loops.map((count) => [String(count), String(count)]), value: "1", onChange: (value) => { chosen.loops = Number(value); made.redraw(); } });
    const confirmed = models.flatMap((model) => (results(model, STUDY, "confirmed") ?? []).map((row) => ({ model, ...row })));
    const table = confirmed.length
      ? whatwhere.table.table(
          [
            ["Model", (row) => row.model],
            ["Loop", (row) => `${named(row)}, ${row.loops} more (${row.choice})`],
            ["Without it", (row) => number(row.before, 3), "number"],
            ["With it", (row) => number(row.after, 3), "number"],
            ["Lead (95 %)", (row) => `${number(row.lead, 3)} (${number(row.lead_low, 3)} to ${number(row.lead_high, 3)})`, "number"],
          ],
          confirmed,
        )
      : null;
    return el(
      "div",
      {},
      el("p", {}, `Chains of 1 to ${most} hops, asked of models that were trained on 1 to ${trained}. Blocks may be run again with their own weights. The loops in the table were chosen on other inputs.`),
      el("div", { class: "controls" }, blocks.element, loops.length ? times.element : null),
      key(models.map((model) => [`${model} ${lookOf(model).glyph}`, lookOf(model).color, lookOf(model).dash])),
      made.element,
      used.element,
      table,
    );
  }

  whatwhere.part({ id: "chains", nav: "Chains", title: "Chains beyond training", make: hops });
})();
