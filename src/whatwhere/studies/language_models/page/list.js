"use strict";
/* The same heads in a table that any column sorts; a head opens from its row. */
(() => {
  const { el, number } = whatwhere.dom;
  const { data } = whatwhere;
  const { choice, scores, open, onChange } = whatwhere.choice;
  const COLUMNS = [
    ["head", (row) => row.layer * 1e4 + row.head, null],
    ["positional", (row) => scores(row).positional, 2],
    ["symbolic", (row) => scores(row).symbolic, 2],
    ["entropy", (row) => row.entropy_share, 2],
    ["first token", (row) => row.first, 2],
    ["previous", (row) => row.previous, 2],
    ["itself", (row) => row.own, 2],
    ["induction", (row) => row.induction, 2],
    ["frequency ID", (row) => row.weighted_id, 0],
    ["label", (row) => scores(row).label, null],
  ];

  /** Undefined values come last, whichever way. */
  function compare(a, b, down) {
    if (a === null || b === null || a === undefined || b === undefined) return ((a ?? null) === null) - ((b ?? null) === null);
    return (down ? -1 : 1) * (typeof a === "string" ? a.localeCompare(b) : a - b);
  }

  function list() {
    let [sorted, down] = ["positional", true];
    const head = el("tr");
    const body = el("tbody");
    const rows = new Map();

    function draw() {
      const [, key] = COLUMNS.find(([name]) => name === sorted);
      head.replaceChildren(
        ...COLUMNS.map(([name, , digits]) => {
          const press = () => {
            [sorted, down] = name === sorted ? [name, !down] : [name, digits !== null];
            draw();
            head.querySelector("[aria-sort] button").focus();
          };
          const arrow = name === sorted ? (down ? " ↓" : " ↑") : "";
          return el("th", { scope: "col", class: digits === null ? null : "number", "aria-sort": name === sorted && (down ? "descending" : "ascending") }, el("button", { type: "button", on: { click: press } }, name + arrow));
        }),
      );
      const order = [...data.heads].sort((a, b) => compare(key(a), key(b), down) || a.layer - b.layer || a.head - b.head);
      rows.clear();
      body.replaceChildren(...order.map(line));
      mark();
    }
    function line(row) {
      const button = el("button", { type: "button", "aria-label": `Open layer ${row.layer} head ${row.head}`, on: { click: () => open(row.layer, row.head) } }, `${row.layer}.${row.head}`);
      const cells = COLUMNS.slice(1).map(([name, value, digits]) => el("td", { class: digits === null ? scores(row).label : "number" }, digits === null ? value(row) : number(value(row), digits)));
      const made = el("tr", {}, el("th", { scope: "row" }, button), cells);
      rows.set(row, made);
      return made;
    }
    function mark() {
      for (const [row, made] of rows) made.dataset.chosen = String(row === choice.row);
    }
    let kind = choice.kind;
    onChange(() => {
      if (kind === choice.kind) return mark();
      kind = choice.kind;
      draw();
    });
    draw();
    const saved = () => data.heads.map(({ spectrum, ...row }) => row);
    return [
      el("p", {}, "Press a heading to sort, again to turn the order round. ", whatwhere.table.csvButton("heads", saved)),
      el("div", { class: "list scroll", tabindex: 0, role: "region", "aria-label": "All heads" }, el("table", {}, el("caption", { class: "visually-hidden" }, "All heads"), el("thead", {}, head), body)),
    ];
  }

  whatwhere.list = list;
})();
