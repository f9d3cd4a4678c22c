"use strict";
/* One swap in two heads: does attention stay, or does it follow? */
(() => {
  const { el, number } = whatwhere.dom;
  const { examplesOf, options } = whatwhere.examples;
  const { attention, ofSwap, ofInput } = whatwhere.swaps;
  const { chart, plot, KINDS } = whatwhere.chart;

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
  /** A neighbour to swap with: of the same window, so that one kind of token takes the place of the same kind. */
  function partner(example, at) {
    const target = whatwhere.data.tasks[example.task].task.target;
    const [first, last] = at < target ? [0, target - 1] : [target, example.tokens.length - 2];
    return at + 2 <= last ? at + 2 : at - 2 >= first ? at - 2 : at === first ? last : first;
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
    const state = { layer: 0, head: 0 };
    const { color, glyph } = KINDS[kind];
    const M = () => current.example().content_by_position[state.layer][state.head];
    const said = el("p", { class: "said", "aria-live": "polite", "data-said": kind });
    const made = chart({
      name: `swap-${kind}`,
      title: `${glyph} A head that follows ${kind === "positional" ? "positions" : "symbols"}`,
      alt: `Attention of the last token before and after the swap, in a ${kind} head`,
      rows: () => {
        const [before, after] = [attention(M()), attention(M(), ...current.swap())];
        return before.map((weight, position) => ({ task: current.example().task, layer: state.layer, head: state.head, position, token: current.example().tokens[position], before: weight, after: after[position] }));
      },
      draw: (width) => bars(current.example(), M(), current.swap(), width, color),
    });
    const list = whatwhere.controls.select({
      label: "Head", options: [], value: "",
      onChange: (value) => { [state.layer, state.head] = value.split(",").map(Number); show(); },
    });
    function show() {
      const [i, j] = current.swap();
      const example = current.example();
      const [before, after] = [attention(M()), attention(M(), i, j)];
      const { positional, symbolic } = ofSwap(M(), i, j);
      const [from, to] = [d3.maxIndex(before), d3.maxIndex(after)];
      const content = to === i ? j : to === j ? i : to;
      const what = !([i, j].includes(from) || [i, j].includes(to)) ? `Most attention is elsewhere, on position ${from}: this swap hardly touches it.` : from === to ? `Most attention stays on position ${from}, where another token stands now.` : content === from ? `Most attention follows its token, “${example.tokens[from]}”, from position ${from} to ${to}.` : `Most attention goes from position ${from} to ${to}.`;
      const whole = ofInput(M(), current.tau);
      said.replaceChildren(what, ` This swap: positional ${number(positional)}, symbolic ${number(symbolic)}. All swaps of this input: positional ${number(whole.positional)}, symbolic ${number(whole.symbolic)}.`);
      made.redraw();
    }
    return {
      element: el("div", {}, el("div", { class: "controls" }, list.element), made.element, said),
      begin: () => {
        const example = current.example();
        Object.assign(state, clearest(example, kind));
        list.fill(
          example.content_by_position.flatMap((heads, layer) => heads.map((_, head) => [`${layer},${head}`, `layer ${layer}${heads.length > 1 ? `, head ${head}` : ""}`])),
          `${state.layer},${state.head}`,
        );
        return strongest(M()).at;
      },
      show,
    };
  }

  function swap() {
    const tasks = whatwhere.tasks.filter((task) => examplesOf(task).length);
    if (!tasks.length) return null;
    for (const task of tasks) for (const example of examplesOf(task)) example.task = task;
    const chosen = { positional: { task: tasks[0], at: 0 }, symbolic: { task: tasks.at(-1), at: 0 } };
    return el("div", { class: "columns" }, Object.keys(chosen).map((kind) => column(kind, tasks, chosen[kind])));
  }

  /** One head with its own input: the number model has the positional heads, the letter model the clearest symbolic ones. */
  function column(kind, tasks, chosen) {
    let pair = [0, 1];
    const current = {
      example: () => examplesOf(chosen.task)[chosen.at],
      swap: () => pair,
      tau: d3.max(tasks, (task) => whatwhere.data.tasks[task].scores?.tau?.[0]) ?? 0.01,
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
    const example = whatwhere.controls.select({ label: "Input", options: options(chosen.task), value: 0, onChange: (value) => { chosen.at = Number(value); begin(); } });
    const task = whatwhere.controls.select({
      label: "Model", options: tasks.map((name) => [name, name]), value: chosen.task,
      onChange: (name) => { chosen.task = name; chosen.at = 0; example.fill(options(name), 0); begin(); },
    });
    begin();
    return el("div", { "data-swap": kind }, el("div", { class: "controls" }, task.element, example.element), el("div", { class: "controls" }, sliders.map((one) => one.element)), head.element);
  }

  whatwhere.swap = swap;
})();
