"use strict";
/* What is known of the open head: its scores with intervals, where its attention goes, and which frequencies it uses. */
(() => {
  const { el, number, significant } = whatwhere.dom;
  const { data } = whatwhere;
  const { choice, scores, onChange } = whatwhere.choice;
  const { chart, plot } = whatwhere.chart;

  const fact = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  const interval = (row, name) => [number(row[name]), el("span", { class: "interval" }, ` (${number(row[`${name}_low`])} to ${number(row[`${name}_high`])})`)];
  const LABELS = {
    positional: "follows where",
    symbolic: "follows what",
    uniform: "looks at its keys alike",
    mixed: "follows both, in part",
    undefined: "too few keys to tell",
  };

  function facts(row) {
    const { label } = scores(row, "paper");
    const turning = row.planes
      ? [fact("Mean frequency ID", number(row.weighted_id, 1)), fact("Strongest frequency", `ID ${row.dominant_id}, a turn in ${significant((2 * Math.PI) / row.dominant_frequency)} tokens`)]
      : [fact("Frequencies", "none: this layer does not rotate")];
    return [
      fact("Label", el("span", { class: label }, label), `: ${LABELS[label] ?? ""}${row.self_attending ? "; attends mostly to itself" : ""}`),
      fact("Positional", interval(row, "positional")),
      fact("Symbolic", interval(row, "symbolic")),
      fact("Beyond the first token", `${number(row.rest_positional)} positional, ${number(row.rest_symbolic)} symbolic: ${row.rest_label}`),
      fact("Entropy", `${number(row.entropy)} nats, ${Math.round(100 * row.entropy_share)} % of the most`),
      fact("Attention to", `first token ${number(row.first)}, previous ${number(row.previous)}, itself ${number(row.own)}`),
      row.induction === undefined || row.induction === null ? null : fact("Induction", `${number(row.induction)} on repeated random tokens`),
      ...turning,
    ];
  }

  function spectrum() {
    const rows = () => choice.row.spectrum.map((share, i) => ({ layer: choice.row.layer, head: choice.row.head, id: i + 1, share }));
    const made = chart({
      name: "head-frequencies", title: "Frequencies that it uses", alt: "Share of each rotary plane in what tells keys apart, from fast to slow", rows,
      draw: (width) => {
        if (!choice.row.spectrum.length) return el("p", { class: "note" }, "No rotation here.");
        const id = choice.row.weighted_id;
        return plot({
          width, height: 200, marginBottom: 36, marginRight: 14,
          x: { label: "frequency ID, fast to slow", domain: [0.4, choice.row.spectrum.length + 0.6], ticks: 8 },
          y: { label: null, grid: true, ticks: 4, tickFormat: "%" },
          marks: [
            Plot.rectY(rows(), { x1: (row) => row.id - 0.4, x2: (row) => row.id + 0.4, y: "share", fill: "var(--accent)", title: (row) => `ID ${row.id}: ${(100 * row.share).toFixed(1)} %` }),
            Plot.ruleY([0]),
            id === null ? null : Plot.ruleX([id], { stroke: "var(--text)", strokeDasharray: "4 3" }),
          ],
        });
      },
      note: "Share of the variance of the logits over keys (below 0: works against the rest); dashed, the mean ID.",
    });
    onChange(made.redraw);
    return made.element;
  }

  function details() {
    const title = el("h3");
    const list = el("dl", { class: "facts" });
    const show = () => {
      title.textContent = `Layer ${choice.row.layer}, head ${choice.row.head}`;
      list.replaceChildren(...facts(choice.row).filter(Boolean));
    };
    onChange(show);
    show();
    const over = { windows: "windows of the text", queries: "the queries of one window, hence too narrow" }[data.settings.interval];
    return [title, list, el("p", { class: "note" }, over ? `In brackets: 95 % intervals, bootstrap over ${over}.` : "One window and one query: no intervals."), spectrum()];
  }

  whatwhere.details = details;
})();
