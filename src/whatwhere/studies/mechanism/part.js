"use strict";
/*
 * Where the chosen head looks on an example, and one swap in two heads: does attention stay, or does it follow?
 * A swap follows from the content-by-position matrix M[content][place]; whatwhere.heads.scores has the same formulas.
 */
(() => {
  const { el, number } = whatwhere.dom;
  const { models, extra, state, onHead } = whatwhere;
  const { chart, plot, KINDS } = whatwhere.chart;
  const STUDY = "mechanism";
  const TAU = 1e-4; // of the weights of swaps, as everywhere

  const examplesOf = (model) => extra(model, STUDY)?.examples ?? [];
  const shown = models.filter((model) => examplesOf(model).length);
  /** What a list of examples shows of each. */
  const options = (model) => examplesOf(model).map((one, i) => [i, `${one.hops} hop${one.hops > 1 ? "s" : ""}, answer ${one.answer}${one.predicted === one.answer ? "" : `, model says ${one.predicted}`}`]);

  function attentionPanel() {
    if (!shown.length) return null;
    let chosen = 0;
    const example = () => examplesOf(state.model)[chosen];
    const rows = () => {
      const one = example();
      return (one?.attention[state.layer]?.[state.head] ?? []).flatMap((keys, query) =>
        keys.map((weight, key) => ({ model: state.model, layer: state.layer, head: state.head, query, key, query_token: one.tokens[query], key_token: one.tokens[key], attention: weight })),
      );
    };
    const made = chart({
      name: "head-attention",
      title: "Attention on an example",
      alt: "Attention matrix of the chosen head; rings mark the hops of the path",
      rows,
      draw: (width) => {
        const one = example();
        if (!one) return el("p", { class: "note" }, `No examples of the ${state.model} model.`);
        const label = (position) => one.tokens[position];
        const size = Math.min(width, 430);
        const hops = one.path.slice(1).map((to, i) => ({ query: one.path[i], key: to }));
        const axis = { domain: d3.range(one.tokens.length), tickFormat: label, tickSize: 0, padding: 0.05 };
        return plot({
          width: size, height: size, marginLeft: 34, marginBottom: 36, marginTop: 20, marginRight: 4,
          x: { ...axis, label: "key" }, y: { ...axis, label: "query", labelAnchor: "top" }, color: { type: "identity" },
          marks: [
            Plot.cell(rows(), { x: "key", y: "query", inset: 0, fill: (row) => `color-mix(in oklab, var(--accent) ${Math.round(100 * row.attention)}%, var(--uniform))`, title: (row) => `${row.query_token} at ${row.query} looks at ${row.key_token} at ${row.key}: ${row.attention.toFixed(3)}` }),
            Plot.cell(hops, { x: "key", y: "query", fill: "none", stroke: "var(--text)", strokeWidth: 2, rx: 4, pointerEvents: "none" }),
          ],
        });
      },
      note: "The stronger the colour, the more attention; rings are the hops of the path. The tokens of the axes are the input’s: in deeper layers other content may stand there.",
    });
    const list = whatwhere.controls.select({ label: "Example", options: options(state.model), value: 0, onChange: (value) => { chosen = Number(value); made.redraw(); } });
    let model = state.model;
    onHead(() => {
      if (model !== state.model) {
        [model, chosen] = [state.model, 0];
        list.fill(options(model), chosen);
      }
      made.redraw();
    });
    made.element.querySelector("figcaption").after(el("div", { class: "controls" }, list.element));
    return made.element;
  }

  function softmax(logits) {
    const top = d3.max(logits);
    const parts = logits.map((logit) => Math.exp(logit - top));
    const sum = d3.sum(parts);
    return parts.map((part) => part / sum);
  }

  /** Attention with the contents of i and j exchanged; without them, as it is. */
  function attention(M, i = -1, j = -1) {
    return softmax(M.map((row, p) => (p === i ? M[j][i] : p === j ? M[i][j] : row[p])));
  }

  /** How positional and how symbolic one swap shows the head to be. */
  function ofSwap(M, i, j) {
    const before = Math.tanh((M[i][i] - M[j][j]) / 2);
    const after = Math.tanh((M[j][i] - M[i][j]) / 2);
    const norm = Math.sqrt((1 + before ** 2) * (1 + after ** 2));
    return { positional: (1 + before * after) / norm, symbolic: (1 - before * after) / norm };
  }

  /** The scores of this input: the mean over all swaps of keys before the query, weighed by the attention they move. */
  function ofInput(M, tau) {
    const D = attention(M);
    const pairs = [];
    for (let j = 1; j < M.length - 1; j++) for (let i = 0; i < j; i++) pairs.push([i, j]);
    const weights = softmax(pairs.map(([i, j]) => Math.abs(D[i] - D[j]) / tau));
    const scores = pairs.map(([i, j]) => ofSwap(M, i, j));
    const mean = (kind) => d3.sum(scores, (score, at) => weights[at] * score[kind]);
    return { positional: mean("positional"), symbolic: mean("symbolic") };
  }

  whatwhere.swaps = { attention, ofSwap, ofInput }; // a test holds them and the package together

  /** The head of a kind that shows it most clearly on an example, among those that look at one token before the query. */
  function clearest(example, kind) {
    const other = kind === "positional" ? "symbolic" : "positional";
    const ranked = [];
    example.content_by_position.forEach((heads, layer) =>
      heads.forEach((M, head) => {
        const best = strongest(M);
        const rival = partner(example, best.at);
        const swap = ofSwap(M, Math.min(best.at, rival), Math.max(best.at, rival));
        ranked.push({ layer, head, value: best.weight + swap[kind] - swap[other] });
      }),
    );
    return d3.greatest(ranked, (one) => one.value);
  }
  /** The key before the query with most attention. */
  function strongest(M) {
    const weights = attention(M).slice(0, -1);
    const at = d3.maxIndex(weights);
    return { at, weight: weights[at] };
  }
  /** A key to swap with: of the same window, another token if there is one, and about two places away. */
  function partner(example, at) {
    const { target, tokens } = example;
    const window = at < target ? d3.range(target) : d3.range(target, tokens.length - 1);
    return d3.least(window.filter((one) => one !== at), (one) => (tokens[one] === tokens[at] ? tokens.length : 0) + Math.abs(Math.abs(one - at) - 2)) ?? (at ? 0 : 1);
  }

  function bars(example, M, swapped, width, color) {
    const n = example.tokens.length;
    const [i, j] = swapped;
    const after = example.tokens.map((token, p) => (p === i ? example.tokens[j] : p === j ? example.tokens[i] : token));
    const draw = (weights, tokens, last) =>
      plot({
        width, height: last ? 118 : 108, marginTop: 14, marginBottom: last ? 34 : 24, marginLeft: 34, marginRight: 2,
        x: { domain: d3.range(n), label: last ? "position; tokens stand below the bars" : null, tickFormat: (p) => tokens[p], tickSize: 0, padding: 0.12 },
        y: { domain: [0, 1], label: null, ticks: 2, grid: true },
        marks: [
          Plot.barY(weights, { x: (_, p) => p, y: (w) => w, fill: color, title: (w, p) => `${tokens[p]} at ${p}: ${w.toFixed(3)}` }),
          Plot.barY([i, j], { x: (p) => p, y: 1, fill: "none", stroke: "var(--text)", strokeWidth: 1.2, strokeDasharray: "3 2", rx: 3 }),
          Plot.text([last ? "after the swap" : "before"], { frameAnchor: "top-left", dy: -12, text: String, fill: "var(--soft)" }),
        ],
      });
    return [draw(attention(M), example.tokens, false), draw(attention(M, i, j), after, true)];
  }

  function panel(kind, current) {
    const open = { layer: 0, head: 0 };
    const { color, glyph } = KINDS[kind];
    const M = () => current.example().content_by_position[open.layer][open.head];
    const sentence = el("p", { class: "sentence", "aria-live": "polite", "data-sentence": kind });
    const made = chart({
      name: `swap-${kind}`,
      title: `${glyph} A head that follows ${kind === "positional" ? "positions" : "symbols"}`,
      alt: `Attention of the last token before and after the swap, in a ${kind} head`,
      rows: () => {
        const [before, after] = [attention(M()), attention(M(), ...current.swap())];
        return before.map((weight, position) => ({ model: current.model(), layer: open.layer, head: open.head, position, token: current.example().tokens[position], before: weight, after: after[position] }));
      },
      draw: (width) => bars(current.example(), M(), current.swap(), width, color),
    });
    const list = whatwhere.controls.select({
      label: "Head", options: [], value: "",
      onChange: (value) => { [open.layer, open.head] = value.split(",").map(Number); show(); },
    });
    function show() {
      const [i, j] = current.swap();
      const example = current.example();
      const [before, after] = [attention(M()), attention(M(), i, j)];
      const { positional, symbolic } = ofSwap(M(), i, j);
      const [from, to] = [d3.maxIndex(before), d3.maxIndex(after)];
      const content = to === i ? j : to === j ? i : to;
      const what = !([i, j].includes(from) || [i, j].includes(to)) ? `Most attention is elsewhere, on position ${from}: this swap hardly touches it.` : from === to ? `Most attention stays on position ${from}, where another token stands now.` : content === from ? `Most attention follows its token, “${example.tokens[from]}”, from position ${from} to ${to}.` : `Most attention goes from position ${from} to ${to}.`;
      const whole = ofInput(M(), TAU);
      sentence.replaceChildren(what, ` This swap: positional ${number(positional)}, symbolic ${number(symbolic)}. All swaps of this input: positional ${number(whole.positional)}, symbolic ${number(whole.symbolic)}.`);
      made.redraw();
    }
    return {
      element: el("div", {}, el("div", { class: "controls" }, list.element), made.element, sentence),
      begin: () => {
        const example = current.example();
        Object.assign(open, clearest(example, kind));
        list.fill(
          example.content_by_position.flatMap((heads, layer) => heads.map((_, head) => [`${layer},${head}`, `layer ${layer}${heads.length > 1 ? `, head ${head}` : ""}`])),
          `${open.layer},${open.head}`,
        );
        return strongest(M()).at;
      },
      show,
    };
  }

  function swap() {
    if (!shown.length) return null;
    const chosen = { positional: { model: shown[0], at: 0 }, symbolic: { model: shown.includes("letter") ? "letter" : shown.at(-1), at: 0 } };
    return el("div", { class: "columns" }, Object.keys(chosen).map((kind) => column(kind, chosen[kind])));
  }

  /** One head with its own input: the number model has the positional heads, the letter model the clearest symbolic ones. */
  function column(kind, chosen) {
    let pair = [0, 1];
    const current = {
      model: () => chosen.model,
      example: () => examplesOf(chosen.model)[chosen.at],
      swap: () => pair,
    };
    const head = panel(kind, current);
    const place = (which, label) =>
      whatwhere.controls.slider({
        label, min: 0, max: current.example().tokens.length - 2, value: 0,
        format: (p) => `${p}: ${current.example().tokens[p]}`,
        onInput: (p) => { pair[which] = p; head.show(); },
      });
    const sliders = [place(0, "Swap the content of"), place(1, "with that of")];
    function begin() {
      const at = head.begin();
      pair = [at, partner(current.example(), at)];
      sliders.forEach((one, which) => { one.input.max = current.example().tokens.length - 2; one.input.value = pair[which]; one.show(); });
      head.show();
    }
    const example = whatwhere.controls.select({ label: "Input", options: options(chosen.model), value: 0, onChange: (value) => { chosen.at = Number(value); begin(); } });
    const model = whatwhere.controls.select({
      label: "Model", options: shown.map((name) => [name, name]), value: chosen.model,
      onChange: (name) => { chosen.model = name; chosen.at = 0; example.fill(options(name), 0); begin(); },
    });
    begin();
    return el("div", { "data-swap": kind }, el("div", { class: "controls" }, model.element, example.element), el("div", { class: "controls" }, sliders.map((one) => one.element)), head.element);
  }

  whatwhere.headScores((model) => whatwhere.results(model, STUDY, "kinds"));
  whatwhere.headFacts(() => {
    const ofHead = (table) => whatwhere.ofHead(STUDY, table);
    const [verdict] = ofHead("verdicts");
    const ablated = ofHead("ablation");
    const facts = verdict ? [["Its role at the end, and whether that matters", `${verdict.role} (${number(verdict.share)}), ${verdict.verdict}`]] : [];
    if (ablated.length) facts.push([`Accuracy of the last model without it, ${ablated.map((one) => one.hops).join("/")} hops`, ablated.map((one) => number(one.after)).join(" ")]);
    return facts;
  });
  whatwhere.headPanel("right", attentionPanel);
  whatwhere.part({
    id: "swap", nav: "Swap", title: "Swap two keys", make: swap,
    intro: "The last token of an input attends to the tokens before it. Exchange the contents of two positions and compare a head that follows positions with one that follows symbols. Nothing is run again: the logit of any content at any place is in the data.",
  });
})();
