"use strict";
/* Accuracy and heads along training, both models under one step. */
(() => {
  const { el, svg, number } = whatwhere.dom;
  const { data, results, steps, state, choose, onChoice } = whatwhere;
  const { chart, plot } = whatwhere.chart;
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

  function accuracy(task) {
    const metrics = results(task, "metrics");
    const hops = Object.keys(metrics[0]).filter((name) => name.startsWith("accuracy_hop"));
    const long = metrics.flatMap((row) => hops.map((name) => ({ task, step: row.step, hops: Number(name.slice(12)), accuracy: row[name] })));
    const mean = metrics.map((row) => ({ task, step: row.step, hops: 0, accuracy: row.accuracy }));
    let move = () => {};
    const made = chart({
      name: `accuracy-${task}`,
      title: "Accuracy by hops",
      alt: `Accuracy of the ${task} model for each hop class along training; at the end ${hops.map((name) => `${name.slice(12)} hops ${number(metrics.at(-1)[name])}`).join(", ")}`,
      rows: () => [...long, ...mean],
      draw: (width) => {
        const drawn = plot({
          width,
          height: 210,
          marginRight: 14,
          marginBottom: 34,
          x: { ...X, domain },
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            data.tasks[task].best === null ? null : Plot.ruleX([data.tasks[task].best], { stroke: "var(--soft)", strokeDasharray: "1 3" }),
            ...d3.groups(long, (row) => row.hops).map(([hop, rows], i) =>
              Plot.lineY(rows, { x: "step", y: "accuracy", stroke: `var(--hop${((hop - 1) % 4) + 1})`, strokeWidth: 2, strokeDasharray: DASHES[i % 4] }),
            ),
            Plot.lineY(mean, { x: "step", y: "accuracy", stroke: "var(--soft)", strokeWidth: 1 }),
          ],
        });
        move = cursor(drawn);
        return drawn;
      },
    });
    const readout = el("p", { class: "readout", "data-readout": `accuracy-${task}` });
    const tell = () => {
      const row = metrics.filter((one) => one.step <= state.step).at(-1) ?? metrics[0];
      readout.textContent = `step ${row.step}: ${hops.map((name) => `${name.slice(12)} hop${name.slice(12) === "1" ? "" : "s"} ${number(row[name], 3)}`).join(" · ")}`;
    };
    tell();
    onChoice(() => {
      move();
      tell();
    });
    return [made.element, readout];
  }

  /** Every head at every checkpoint. A press chooses the head and the step. */
  function map(task) {
    const scores = results(task, "scores");
    const own = d3.sort(new Set(scores.map((row) => row.step)));
    const next = new Map(own.map((step, i) => [step, own[i + 1] ?? 1.015 * step]));
    const { heads } = whatwhere.shape(task);
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
      name: `heads-by-step-${task}`,
      title: heads > 1 ? "What each head (layer.head) looks at" : "What the head of each layer looks at",
      alt: `Map of the heads of the ${task} model (down) against training steps (across): colour and mark say whether a head follows positions or symbols`,
      rows: () => scores.map((row) => ({ task, ...row })),
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
          choose({ task, layer, head, step: d3.max(steps, (step) => (step <= x ? step : undefined)) ?? steps[0] });
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

  function training() {
    const tasks = whatwhere.tasks.filter((task) => results(task, "metrics") || results(task, "scores"));
    const hop = whatwhere.chart.key([1, 2, 3, 4].map((h, i) => [`${h} hop${h > 1 ? "s" : ""}`, `var(--hop${h})`, DASHES[i]]).concat([["mean", "var(--soft)", null]]));
    return el(
      "div",
      {},
      stepControl(),
      hop,
      whatwhere.heads.headLegend(),
      el(
        "div",
        { class: "columns" },
        tasks.map((task) =>
          el("div", {}, el("h3", {}, `${task[0].toUpperCase()}${task.slice(1)} task`), results(task, "metrics") ? accuracy(task) : null, results(task, "scores") ? map(task) : null),
        ),
      ),
      el("p", { class: "note" }, "In the maps a disc marks a positional head and a line a symbolic one, thin where it only leans. Steps are spread by their square root. The dotted line is the step of maximal accuracy (the first within 0.005 of the best mean)."),
    );
  }

  whatwhere.training = { training, stepAxis: { ...X, domain }, cursor };
})();
