"use strict";
/* A small language model along its training: loss and copying, what each head attends to, and its two scores. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results } = whatwhere;
  const { chart, plot, key, KINDS } = whatwhere.chart;
  const STUDY = "growth";
  const DETECTORS = { previous: ["to the token before", KINDS.positional], induction: ["to the induction target", KINDS.symbolic] };

  function growth() {
    const losses = results("", STUDY, "losses");
    if (!losses?.length) return null;
    const tokensAt = new Map(losses.map((row) => [row.step, row.tokens]));
    const withTokens = (table) => results("", STUDY, table).map((row) => ({ ...row, tokens: tokensAt.get(row.step), name: `${row.layer}.${row.head}` }));
    const [detectors, scores] = [withTokens("detectors"), withTokens("scores")];
    const onsets = results("", STUDY, "onsets") ?? [];
    const copying = onsets.filter((row) => row.event === "copying");
    const names = [...new Set(scores.map((row) => row.name))];
    let chosen = names[0];
    const x = { type: "symlog", constant: losses[1]?.tokens ?? 1, label: "tokens trained on", grid: false, ticks: 5, tickFormat: "~s" };
    const moment = () => Plot.ruleX(copying, { x: "tokens", stroke: "var(--soft)", strokeDasharray: "2 3" });
    const lossChart = chart({
      name: "growth-loss",
      title: "Loss on held-out text, and what repetition helps",
      alt: `Held-out loss from ${number(losses[0].held_out)} to ${number(losses.at(-1).held_out)} nats; repetition helps by ${number(losses.at(-1).copying)} nats at the end`,
      rows: () => losses,
      draw: (width) =>
        plot({ width, height: 220, x, y: { label: "nats", grid: true, zero: true }, marks: [moment(), Plot.lineY(losses, { x: "tokens", y: "held_out", stroke: "var(--soft)", strokeWidth: 2 }), Plot.lineY(losses, { x: "tokens", y: "copying", stroke: "var(--accent)", strokeWidth: 2, strokeDasharray: "2 2" })] }),
    });
    const attention = chart({
      name: "growth-attention",
      title: "Attention of each head",
      alt: "Attention of each head to the token before and to the induction target along training",
      rows: () => detectors.map(({ step, tokens, layer, head, previous, induction }) => ({ step, tokens, layer, head, previous, induction })),
      draw: (width) =>
        plot({
          width, height: 240, x, y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [moment(), ...Object.entries(DETECTORS).map(([column, [, look]]) => Plot.lineY(detectors, { x: "tokens", y: column, z: "name", stroke: look.color, strokeDasharray: look.dash, strokeWidth: (row) => (row.name === chosen ? 3 : 1), title: (row) => `head ${row.name}` }))],
        }),
    });
    const head = chart({
      name: "growth-head",
      title: "Scores of one head",
      alt: "The positional and the symbolic score of the chosen head along training",
      rows: () => scores.filter((row) => row.name === chosen),
      draw: (width) => {
        const rows = scores.filter((row) => row.name === chosen);
        return plot({ width, height: 220, x, y: { domain: [0, 1], label: null, grid: true, ticks: 5 }, marks: [moment(), ...Object.entries(KINDS).map(([kind, look]) => Plot.lineY(rows, { x: "tokens", y: kind, stroke: look.color, strokeDasharray: look.dash, strokeWidth: 2 }))] });
      },
    });
    const choice = whatwhere.controls.select({
      label: "Head", options: names.map((name) => [name, name]), value: chosen,
      onChange: (value) => {
        chosen = value;
        attention.redraw();
        head.redraw();
      },
    });
    const table = whatwhere.table.table(
      [
        ["What", (row) => row.event],
        ["Head", (row) => (row.layer === null ? "the model" : `${row.layer}.${row.head}`)],
        ["from token", (row) => number(row.tokens, 0), "number"],
      ],
      onsets,
      "From when on each holds to the end",
    );
    return el(
      "div",
      {},
      el("p", {}, "A small Llama learns from text. Heads are scored on held-out text; random tokens, given twice, tell which heads do induction."),
      lossChart.element,
      key(Object.values(DETECTORS).map(([text, look]) => [text, look.color, look.dash])),
      attention.element,
      el("div", { class: "controls" }, choice.element),
      key(Object.entries(KINDS).map(([kind, look]) => [kind, look.color, look.dash])),
      head.element,
      table,
    );
  }

  whatwhere.part({ id: "growth", nav: "Growth", title: "Heads of a language model in training", make: growth });
})();
