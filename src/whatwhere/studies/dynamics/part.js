"use strict";
/* Accuracy and heads along training, all models under one step. */
(() => {
  const { el, svg, number } = whatwhere.dom;
  const { results, modelsWith, state, choose, onChoice, onHead, ofHead } = whatwhere;
  const { chart, plot, KINDS } = whatwhere.chart;
  const STUDY = "dynamics";
  const SLACK = 0.005; // of the step of maximal accuracy, as in whatwhere.heads.purity
  const steps = d3.sort(new Set(["scores", "accuracy"].flatMap((table) => modelsWith(STUDY, table).flatMap((model) => results(model, STUDY, table).map((row) => row.step)))));
  state.step = steps.at(-1) ?? null;
  const X = { type: "pow", exponent: 0.5, label: "step", grid: false, ticks: 6 };
  const domain = [0, 1.015 * (steps.at(-1) || 1)]; // a little room for the last checkpoint's cells
  // Discs for positional heads, lines for symbolic ones: these differ where a disc and a square of this size would not.
  const MARKS = {
    "●": (rows) => Plot.dot(rows, { x: "middle", y: "name", r: 2.2, fill: "var(--on-map)", pointerEvents: "none" }),
    "○": (rows) => Plot.dot(rows, { x: "middle", y: "name", r: 2, stroke: "var(--on-map)", strokeWidth: 0.8, pointerEvents: "none" }),
    "■": (rows) => Plot.ruleY(rows, { x1: "step", x2: "end", y: "name", stroke: "var(--on-map)", strokeWidth: 2.6, pointerEvents: "none" }),
    "□": (rows) => Plot.ruleY(rows, { x1: "step", x2: "end", y: "name", stroke: "var(--on-map)", strokeWidth: 0.8, pointerEvents: "none" }),
  };
  const DASHES = [null, "8 2", "4 2", "2 2"];

  /** Draws the chosen step over a plot, and moves it when it changes. */
  function cursor(drawn) {
    const line = svg("line", { class: "cursor" });
    const [y1, y2] = [drawn.scale("y").range[0], drawn.scale("y").range[1]];
    const move = () => {
      const x = drawn.scale("x").apply(state.step);
      for (const [name, value] of Object.entries({ x1: x, x2: x, y1, y2 })) line.setAttribute(name, value);
    };
    move();
    drawn.append(line);
    return move;
  }

  /** Accuracy along training, on all held-out inputs of a step: scored ones and the training's own together. */
  function curves(model) {
    const along = (results(model, STUDY, "accuracy") ?? []).filter((row) => row.split !== "test");
    const pool = (rows) => {
      const n = d3.sum(rows, (row) => row.accuracy_n);
      return { step: rows[0].step, hop: rows[0].hop, accuracy: d3.sum(rows, (row) => row.accuracy * row.accuracy_n) / n, n };
    };
    const pooled = d3.flatRollup(along, pool, (row) => row.step, (row) => row.hop).map(([, , row]) => row);
    return d3.sort(pooled, (row) => row.step, (row) => row.hop);
  }

  function accuracy(model) {
    const long = curves(model);
    const hops = d3.sort(new Set(long.map((row) => row.hop)));
    const at = d3.rollup(long, (rows) => new Map(rows.map((row) => [row.hop, row.accuracy])), (row) => row.step);
    const mean = [...at].map(([step, values]) => ({ step, accuracy: d3.mean(values.values()) }));
    const top = d3.max(mean, (row) => row.accuracy);
    const best = mean.find((row) => row.accuracy >= top - SLACK);
    const last = at.get(mean.at(-1).step);
    let move = () => {};
    const made = chart({
      name: `accuracy-${model}`,
      title: "Accuracy by hops",
      alt: `Accuracy of the ${model} model for each hop class along training; at the end ${hops.map((hop) => `${hop} hops ${number(last.get(hop))}`).join(", ")}`,
      rows: () => long.map((row) => ({ model, ...row })),
      draw: (width) => {
        const drawn = plot({
          width,
          height: 210,
          marginRight: 14,
          marginBottom: 34,
          x: { ...X, domain },
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            best ? Plot.ruleX([best.step], { stroke: "var(--soft)", strokeDasharray: "1 3" }) : null,
            ...d3.groups(long, (row) => row.hop).map(([hop, rows], i) =>
              Plot.lineY(rows, { x: "step", y: "accuracy", stroke: `var(--hop${((hop - 1) % 4) + 1})`, strokeWidth: 2, strokeDasharray: DASHES[i % 4] }),
            ),
            Plot.lineY(mean, { x: "step", y: "accuracy", stroke: "var(--soft)", strokeWidth: 1 }),
          ],
        });
        move = cursor(drawn);
        return drawn;
      },
    });
    const readout = el("p", { class: "readout", "data-readout": `accuracy-${model}` });
    const tell = () => {
      const { step } = mean.filter((row) => row.step <= state.step).at(-1) ?? mean[0];
      readout.textContent = `step ${step}: ${hops.map((hop) => `${hop} hop${hop === 1 ? "" : "s"} ${number(at.get(step).get(hop), 3)}`).join(" · ")}`;
    };
    tell();
    onChoice(() => {
      move();
      tell();
    });
    return [made.element, readout];
  }

  /** Every head at every checkpoint. A press chooses the head and the step. */
  function map(model) {
    const scores = results(model, STUDY, "scores");
    const own = d3.sort(new Set(scores.map((row) => row.step)));
    const next = new Map(own.map((step, i) => [step, own[i + 1] ?? 1.015 * step]));
    const heads = 1 + d3.max(scores, (row) => row.head);
    const name = (row) => (heads > 1 ? `${row.layer}.${row.head}` : String(row.layer));
    const { headColor, headKind, headGlyph } = whatwhere.heads;
    const cells = scores.map((row) => ({
      ...row,
      name: name(row),
      end: next.get(row.step),
      middle: ((Math.sqrt(row.step) + Math.sqrt(next.get(row.step))) / 2) ** 2,
      kind: headKind(row.positional, row.symbolic),
      glyph: headGlyph(row.positional, row.symbolic),
    }));
    const wide = (row, width) => ((Math.sqrt(row.end) - Math.sqrt(row.step)) / Math.sqrt(domain[1])) * width > 4.5;
    const names = [...new Set(cells.map((row) => row.name))];
    let move = () => {};
    const made = chart({
      name: `heads-by-step-${model}`,
      title: heads > 1 ? "What each head (layer.head) looks at" : "What the head of each layer looks at",
      alt: `Map of the heads of the ${model} model (down) against training steps (across): colour and mark say whether a head follows positions or symbols`,
      rows: () => scores.map((row) => ({ model, ...row })),
      draw: (width) => {
        const drawn = plot({
          width,
          height: 34 + Math.max(12, Math.min(names.length, 40)) * 17,
          marginRight: 14,
          marginBottom: 34,
          x: { ...X, domain },
          y: { type: "band", domain: names, label: heads > 1 ? null : "layer", padding: 0.06, labelAnchor: "top" },
          color: { type: "identity" },
          marks: [
            Plot.rect(cells, { x1: "step", x2: "end", y: "name", fill: (row) => headColor(row.positional, row.symbolic), title: (row) => `layer ${row.layer} head ${row.head}, step ${row.step}\npositional ${number(row.positional)}, symbolic ${number(row.symbolic)}: ${row.kind}` }),
            ...Object.entries(MARKS).map(([glyph, mark]) => mark(cells.filter((row) => row.glyph === glyph && wide(row, width)))),
          ],
        });
        move = cursor(drawn);
        drawn.addEventListener("click", (event) => {
          const box = drawn.getBoundingClientRect();
          const scale = width / box.width;
          const x = drawn.scale("x").invert((event.clientX - box.left) * scale);
          const y = (event.clientY - box.top) * scale;
          const band = drawn.scale("y");
          const row = names.find((one) => y >= band.apply(one) && y < band.apply(one) + band.bandwidth);
          if (row === undefined) return;
          const [layer, head] = heads > 1 ? row.split(".").map(Number) : [Number(row), 0];
          choose({ model, layer, head, step: d3.max(steps, (step) => (step <= x ? step : undefined)) ?? steps[0] });
        });
        return drawn;
      },
    });
    made.element.classList.add("clickable");
    onChoice(() => move());
    return made.element;
  }

  function stepControl() {
    const made = whatwhere.controls.slider({
      label: "Training step, shared by everything below",
      min: 0,
      max: steps.length - 1,
      value: steps.length - 1,
      format: (at) => `step ${steps[at]}`,
      onInput: (at) => choose({ step: steps[at] }),
    });
    made.input.id = "step";
    made.element.querySelector("label").htmlFor = "step";
    onChoice((_, change) => {
      if (change.step !== undefined && steps[made.value] !== change.step) {
        made.input.value = steps.indexOf(change.step);
        made.show();
      }
    });
    return el("div", { class: "controls steps" }, whatwhere.controls.playButton(made), made.element);
  }

  /** The scores of every head at the last checkpoint up to a step. */
  whatwhere.headScores((model, step) => {
    const all = results(model, STUDY, "scores") ?? [];
    const last = d3.max(all, (row) => (row.step <= step ? row.step : undefined)) ?? d3.min(all, (row) => row.step);
    return all.filter((row) => row.step === last);
  });
  whatwhere.headFacts(() => {
    const row = whatwhere.scoresAt(state.model, state.step).get(`${state.layer},${state.head}`);
    if (row?.step === undefined) return [];
    return [["At step", String(row.step)], ["Positional ●", number(row.positional)], ["Symbolic ■", number(row.symbolic)], ["It is", whatwhere.heads.headKind(row.positional, row.symbolic)], ["Entropy, share of maximum", number(row.entropy_share)], ["Attention to itself", number(row.own)]];
  });

  function headScores() {
    if (!modelsWith(STUDY, "scores").length) return null;
    let move = () => {};
    const made = chart({
      name: "head-scores",
      title: "Scores along training",
      alt: "Positional and symbolic score and entropy of the chosen head along training",
      rows: () => ofHead(STUDY, "scores").map((row) => ({ model: state.model, ...row })),
      draw: (width) => {
        const rows = ofHead(STUDY, "scores");
        const mark = (name, { color, dash, symbol }) => [
          Plot.lineY(rows, { x: "step", y: name, stroke: color, strokeWidth: 2, strokeDasharray: dash }),
          Plot.dot(rows.slice(-1), { x: "step", y: name, fill: color, symbol, r: 4 }),
        ];
        const drawn = plot({
          width, height: 230, marginRight: 14, marginBottom: 34,
          x: { ...X, domain },
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            Plot.lineY(rows, { x: "step", y: "entropy_share", stroke: "var(--entropy)", strokeWidth: 1.2, strokeDasharray: "1 3" }),
            ...mark("positional", KINDS.positional),
            ...mark("symbolic", KINDS.symbolic),
          ],
        });
        move = cursor(drawn);
        return drawn;
      },
    });
    onHead(made.redraw);
    onChoice(() => move());
    const key = whatwhere.chart.key([["positional ●", KINDS.positional.color, null], ["symbolic ■", KINDS.symbolic.color, "5 3"], ["entropy, share of its maximum", "var(--entropy)", "1 3"]]);
    return el("div", {}, made.element, key);
  }
  whatwhere.headPanel("left", headScores);

  whatwhere.tiles(() =>
    modelsWith(STUDY, "accuracy").flatMap((model) => {
      const tested = results(model, STUDY, "accuracy").filter((row) => row.split === "test").map((row) => row.accuracy);
      return tested.length ? [[number(d3.mean(tested), 3), `of unseen sequences right, ${model} model; worst hop class ${number(d3.min(tested), 3)}`]] : [];
    }),
  );

  function training() {
    if (!steps.length) return null;
    const hop = whatwhere.chart.key([1, 2, 3, 4].map((h, i) => [`${h} hop${h > 1 ? "s" : ""}`, `var(--hop${h})`, DASHES[i]]).concat([["mean", "var(--soft)", null]]));
    const shown = whatwhere.models.filter((model) => curves(model).length || results(model, STUDY, "scores")?.length);
    return el(
      "div",
      {},
      stepControl(),
      hop,
      whatwhere.heads.headLegend(),
      el(
        "div",
        { class: "columns" },
        shown.map((model) =>
          el("div", {}, el("h3", {}, `${whatwhere.titled(model)} model`), curves(model).length ? accuracy(model) : null, results(model, STUDY, "scores")?.length ? map(model) : null),
        ),
      ),
      el("p", { class: "note" }, "In the maps a disc marks a positional head and a line a symbolic one, thin where it only leans. Steps are spread by their square root. The dotted line is the step of maximal accuracy (the first within 0.005 of the best mean)."),
    );
  }

  whatwhere.steps = steps;
  whatwhere.part({
    id: "training", nav: "Training", title: "Along training", order: 20, make: training,
    intro: "Accuracy of each hop class, and what every head looks at. Move the step, or press play; choose a head in a map to open it below.",
  });
})();
