"use strict";
/* The chosen head: its scores along training, and everything else that is known of it. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, state, choose, onChoice } = whatwhere;
  const { chart, plot, KINDS } = whatwhere.chart;

  const ofHead = (table) => (results(state.task, table) ?? []).filter((row) => row.layer === state.layer && row.head === state.head);

  /** A map of each model's heads at the chosen step. */
  function maps() {
    return whatwhere.tasks
      .filter((task) => results(task, "scores"))
      .map((task) => {
        let now = whatwhere.scoresAt(task, state.step);
        const map = whatwhere.heads.headMap({
          ...whatwhere.shape(task),
          label: `Heads of the ${task} model by layer`,
          value: (layer, head) => now.get(`${layer},${head}`) ?? { positional: null, symbolic: null },
          onSelect: (layer, head) => choose({ task, layer, head }),
        });
        map.element.dataset.task = task;
        const title = el("h3", {});
        const show = () => {
          now = whatwhere.scoresAt(task, state.step);
          map.update();
          title.textContent = `${task[0].toUpperCase()}${task.slice(1)} model, its layers at step ${[...now.values()][0]?.step ?? "–"}`;
          if (state.task === task) map.select(state.layer, state.head);
          else map.clear();
        };
        show();
        onChoice(show);
        return el("div", {}, title, map.element);
      });
  }

  function scores() {
    let move = () => {};
    const made = chart({
      name: "head-scores",
      title: "Scores along training",
      alt: "Positional and symbolic score and entropy of the chosen head along training",
      rows: () => ofHead("scores").map((row) => ({ task: state.task, ...row })),
      draw: (width) => {
        const rows = ofHead("scores");
        const mark = (name, { color, dash, symbol }) => [
          Plot.lineY(rows, { x: "step", y: name, stroke: color, strokeWidth: 2, strokeDasharray: dash }),
          Plot.dot(rows.slice(-1), { x: "step", y: name, fill: color, symbol, r: 4 }),
        ];
        const drawn = plot({
          width, height: 230, marginRight: 14, marginBottom: 34,
          x: whatwhere.training.stepAxis,
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            Plot.lineY(rows, { x: "step", y: "entropy_share", stroke: "var(--entropy)", strokeWidth: 1.2, strokeDasharray: "1 3" }),
            ...mark("positional", KINDS.positional),
            ...mark("symbolic", KINDS.symbolic),
          ],
        });
        move = whatwhere.training.cursor(drawn);
        return drawn;
      },
    });
    onChoice((_, change) => (change.task || "layer" in change ? made.redraw() : move()));
    const key = whatwhere.chart.key([["positional ●", KINDS.positional.color, null], ["symbolic ■", KINDS.symbolic.color, "5 3"], ["entropy, share of its maximum", "var(--entropy)", "1 3"]]);
    return el("div", {}, made.element, key);
  }

  function facts() {
    const place = el("dl", { class: "facts", id: "head-facts", "aria-live": "polite" });
    const show = () => {
      const row = whatwhere.scoresAt(state.task, state.step).get(`${state.layer},${state.head}`);
      const [verdict] = ofHead("verdicts");
      const [id] = ofHead("ids").filter((one) => one.measure === "variance");
      const ablated = ofHead("ablation");
      const pairs = [["Head", `${state.task} task, layer ${state.layer}, head ${state.head}`]];
      if (row) {
        pairs.push(["At step", String(row.step)], ["Positional ●", number(row.positional)], ["Symbolic ■", number(row.symbolic)], ["It is", whatwhere.heads.headKind(row.positional, row.symbolic)], ["Entropy, share of maximum", number(row.entropy_share)], ["Attention to itself", number(row.own)]);
      }
      if (verdict) pairs.push(["Its role at the end, and whether that matters", `${verdict.role} (${number(verdict.share)}), ${verdict.verdict}`]);
      if (ablated.length) pairs.push([`Accuracy of the last model without it, ${ablated.map((one) => one.hops).join("/")} hops`, ablated.map((one) => number(one.after)).join(" ")]);
      if (id) pairs.push(["Frequency ID: mean, dominant", `${number(id.weighted_id, 1)}, ${id.dominant}${id.paper_id ? `; paper ${id.paper_id}` : ""}`]);
      place.replaceChildren(...pairs.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text))));
    };
    show();
    onChoice(show);
    return place;
  }

  function head() {
    const { spectrum, plane, allHeads } = whatwhere.geometry;
    const left = el("div", {}, scores(), spectrum(), allHeads());
    const right = el("div", {}, whatwhere.attention(), plane());
    return el("div", {}, whatwhere.heads.headLegend(), el("div", { class: "columns" }, maps()), facts(), el("div", { class: "columns" }, left, right));
  }

  whatwhere.head = { head, ofHead };
})();
