"use strict";
/* Where the chosen head looks on an example: every query (down) against every key (across). */
(() => {
  const { el } = whatwhere.dom;
  const { data, state, onChoice } = whatwhere;
  const { chart, plot } = whatwhere.chart;

  const examplesOf = (task) => data.tasks[task].examples ?? [];
  /** What a list of examples shows of each. */
  const options = (task) => examplesOf(task).map((one, i) => [i, `${one.hops} hop${one.hops > 1 ? "s" : ""}, answer ${one.answer}${one.predicted === one.answer ? "" : `, model says ${one.predicted}`}`]);

  function attention() {
    if (!whatwhere.tasks.some((task) => examplesOf(task).length)) return null;
    let chosen = 0;
    const example = () => examplesOf(state.task)[chosen];
    const rows = () => {
      const one = example();
      return (one?.attention[state.layer]?.[state.head] ?? []).flatMap((keys, query) =>
        keys.map((weight, key) => ({ task: state.task, layer: state.layer, head: state.head, query, key, query_token: one.tokens[query], key_token: one.tokens[key], attention: weight })),
      );
    };
    const made = chart({
      name: "head-attention",
      title: "Attention on an example",
      alt: "Attention matrix of the chosen head; rings mark the hops of the path",
      rows,
      draw: (width) => {
        const one = example();
        if (!one) return el("p", { class: "note" }, `No examples of the ${state.task} model.`);
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
    const list = whatwhere.controls.select({ label: "Example", options: options(state.task), value: 0, onChange: (value) => { chosen = Number(value); made.redraw(); } });
    onChoice((_, change) => {
      if (change.task) {
        list.fill(options(state.task), chosen);
      }
      if (change.task || "layer" in change) made.redraw();
    });
    made.element.querySelector("figcaption").after(el("div", { class: "controls" }, list.element));
    return made.element;
  }

  whatwhere.attention = attention;
  whatwhere.examples = { examplesOf, options };
})();
