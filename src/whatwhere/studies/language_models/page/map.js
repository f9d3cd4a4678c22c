"use strict";
/* The map of all heads, how many there are of each kind, and the choice between the two kinds of scores. */
(() => {
  const { el } = whatwhere.dom;
  const { data, heads: drawing } = whatwhere;
  const { choice, change, scores, at, open, onChange, KINDS } = whatwhere.choice;
  const size = (name) => 1 + Math.max(...data.heads.map((row) => row[name]));

  function counts() {
    const found = new Map();
    for (const row of data.heads) {
      const { label } = scores(row);
      found.set(label, (found.get(label) ?? 0) + 1);
    }
    const named = ["positional", "symbolic", "uniform", "mixed", "undefined"].filter((label) => found.has(label));
    return [`${data.heads.length} heads: `, named.flatMap((label, i) => [i ? ", " : "", el("span", { class: label }, `${found.get(label)} ${label}`)]), "."];
  }

  function map() {
    const made = drawing.headMap({
      layers: size("layer"), heads: size("head"), label: "Heads by layer and head", chosen: [choice.row.layer, choice.row.head],
      value: (layer, head) => (at(layer, head) ? scores(at(layer, head)) : { positional: null, symbolic: null }),
      onSelect: open,
      describe: (layer, head) => (at(layer, head) ? "" : ", not scored"),
    });
    const total = el("p", { class: "counts" });
    const list = whatwhere.controls.select({
      label: "Scores", options: Object.entries(KINDS).map(([kind, { name }]) => [kind, name]), value: choice.kind,
      onChange: (kind) => change({ kind }),
    });
    const note = el("p", { class: "note" }, "Many heads park attention on the first token, which makes them symbolic whatever else they do. “Beyond the first token” scores swaps among the later keys only; it is not the paper’s score.");
    let kind = null;
    const show = () => {
      if (kind !== choice.kind) {
        kind = choice.kind;
        total.replaceChildren(...counts().flat(2));
        made.update();
      }
      made.select(choice.row.layer, choice.row.head);
    };
    onChange(show);
    show();
    return [el("div", { class: "controls" }, list.element), total, drawing.headLegend(), el("div", { class: "frame" }, made.element), note];
  }

  whatwhere.map = map;
})();
